"""Small domains to test the trainer with, brought as a plugin so that env workers find them too."""
