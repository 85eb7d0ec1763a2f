"""The compiled hot loops. Each accepts and returns plain arrays, and checks every index before using it."""
