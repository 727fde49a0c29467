"""The one Postgres: connections and roles, migrations and functions, and the embedded server.

Rooms keep their own SQL; this package only knows how to reach the database and how to keep its schema.
"""
