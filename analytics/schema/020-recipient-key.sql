-- By which an account joins what it sent to one person, also after the number is cut off. The keyed hash itself stays withheld: it
-- would show who is in two accounts. This one is of the hash and the account, computed when it is read, so no row grows.
ALTER TABLE sms_events ADD COLUMN IF NOT EXISTS recipient_key UInt64 ALIAS if(recipient_hash = 0, toUInt64(0), sipHash64(recipient_hash, account_id));
