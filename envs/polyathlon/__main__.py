"""`python -m polyathlon` is `polyathlon`."""

from polyathlon.cli import main

if __name__ == "__main__":
    main()
