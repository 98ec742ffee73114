"""The formulas of distributed training and serving, as plain functions and as a catalogue.

Functions take and return base units: bytes, seconds, bytes a second, shares from 0 to 1. Bytes are
decimal where people write GB and binary where they write GiB.
"""
