"""From paths to clean lines: discover, open, unwrap, scan, and take prefixes off."""
