"""What ``bocce`` gains by this package: entry points of the group ``bocce.commands``.

Heavy imports happen inside the commands, so that help comes at once.
"""
