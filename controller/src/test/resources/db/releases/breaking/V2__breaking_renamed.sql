ALTER TABLE thing RENAME TO object;
