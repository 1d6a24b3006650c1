"""What was found and done, as text or data: functions that print nothing."""
