-- A message's callback_url (`<endpoint id> <url>`; empty for most messages): events that are made from recorded ones go to it as well,
-- and so do replays (docs/decisions/0248-the-event-store-has-the-callback-url.md). It is the last cell of a submit's row.
ALTER TABLE sms_events ADD COLUMN IF NOT EXISTS callback String DEFAULT '' CODEC(ZSTD(1));

ALTER TABLE sms_submits_feed MODIFY QUERY
SELECT carrier, replaceRegexpOne(lowerUTF8(replaceRegexpAll(carrier_message_id, '^\\s+|\\s+$', '')), '^(0x)?0*(.)', '\\2') AS submit_key,
    recipient, at, message_id,
    formatRowNoNewline('TabSeparated', event_id, account_id, key_id, hop, attempt, segment, segments, carrier_message_id, error,
        epoch, category, sender, encoding, livemode, client_reference, campaign_id, variant_id, template_id,
        toUnixTimestamp64Milli(accepted_at), toUnixTimestamp64Milli(valid_until), toUnixTimestamp64Milli(scheduled_at), callback) AS row
FROM sms_events
WHERE kind = 'submitted' AND carrier_message_id != '';
