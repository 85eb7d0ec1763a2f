"""Declarations of the commands: arguments, options and help. What a command does is imported when it runs."""
