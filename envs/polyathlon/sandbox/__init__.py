"""Where commands that nobody trusts run.

`protocol` says what a sandbox does; `choose.default_room()` gives one that has proved itself by attack; `scripted` is
one that runs nothing, for tests.

How the bubblewrap backend is built: a room starts one *launcher*, a small process of its own, so that the trainer never
forks. It assembles the read-only system once, in a private mount namespace. A *box* is a copy of that namespace with a
sized tmpfs in it, held open by a descriptor: when its holder dies, the kernel frees it. Every command, and the shell,
is a bwrap of its own around the box's files: its status comes from the kernel, its end ends all its processes, and
nothing that watches over it is within its reach. Files are put and read from outside, through the box's namespace.
"""
