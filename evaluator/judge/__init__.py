"""The trusted side: hidden inputs, expected outputs, comparison and clock, one warm process per device."""
