"""What every room stands on and nothing here knows: errors, ids, text, markup, tasks, logs, HTTP, plugs."""
