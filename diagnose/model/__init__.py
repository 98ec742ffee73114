"""The data every layer shares: events, facts, findings, the report and the cause vocabulary."""
