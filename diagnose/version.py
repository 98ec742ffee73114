"""The version of this program, and of the rules that ship with it."""

VERSION = "0.1.0"
