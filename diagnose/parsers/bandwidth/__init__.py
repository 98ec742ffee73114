"""What is read of bandwidth: the tables that tests print."""
