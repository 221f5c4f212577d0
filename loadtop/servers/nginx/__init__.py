"""nginx: client connections and how many its workers may hold."""
