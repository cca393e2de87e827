"""What the paper shows, made again: runs, figures and tables."""
