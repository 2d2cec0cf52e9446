"""The process that makes sandboxes: started once per room, alone, with the standard library and nothing else.

It holds the privileges the trainer has, so that the trainer never forks itself; it imports nothing outside this
folder; and when its owner's end of the control socket closes, it kills what it started and goes.
"""
