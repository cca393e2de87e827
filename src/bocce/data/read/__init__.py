"""Reading: one file a source, each giving rows part by part and any part again."""
