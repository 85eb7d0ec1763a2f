"""The compiled hot loops. Each takes and returns plain arrays and checks every index before it uses it."""
