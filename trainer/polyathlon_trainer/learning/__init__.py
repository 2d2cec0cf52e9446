"""The model, its optimisers and its losses."""
