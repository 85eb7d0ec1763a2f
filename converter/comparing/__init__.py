"""What two traces have that the other has not: events side by side, tables, and what is told of both."""
