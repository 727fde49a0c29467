"""What every room stands on and nothing here knows: errors, ids, text, tasks, logs, HTTP, plug discovery."""
