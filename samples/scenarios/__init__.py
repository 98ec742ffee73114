"""What happened to the jobs of the samples: facts in, a book of what all writers wrote out."""
