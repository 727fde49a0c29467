"""The API's paths, one file per room or thing: validate, one use case, render."""
