"""Programs as files: functions of ELF files, and names of C++ as written in its source."""
