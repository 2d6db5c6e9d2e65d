-- Makes the role that the services have, which is no superuser, and its database. Repeats safely; another password is set.
-- Run by psql as the superuser, with the password of the role in DATABASE_PASSWORD.
\set ON_ERROR_STOP on
\getenv password DATABASE_PASSWORD
SELECT 'CREATE ROLE parley LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'parley') \gexec
SELECT format('ALTER ROLE parley NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD %L', :'password') \gexec
SELECT 'CREATE DATABASE parley OWNER parley'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'parley') \gexec
