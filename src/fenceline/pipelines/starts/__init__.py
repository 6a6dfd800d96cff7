"""What was learnt on other tables: pipelines with which a search of a new table begins."""
