"""How a report is shown: one module a format, all from the same data; nothing is computed here."""
