"""Two arms of runs, held against each other where they were read off the same ruler."""
