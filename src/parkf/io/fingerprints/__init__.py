"""Keys of what decides a result: the code of a stage, and the content of a document."""
