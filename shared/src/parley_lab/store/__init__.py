"""The only room with SQL: tables, migrations, and one module of functions per noun."""
