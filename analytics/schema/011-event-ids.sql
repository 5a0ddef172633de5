-- The ids under which webhooks sent one-time passwords and clicks, so that they are sent again under the same ones
-- (queries/replay-facts.ts): `eventIdOf` of model/ids.ts over what model/fact.ts and clicks/click-facts.ts give it. The
-- default computes the id: the recorder does not write it, and rows from before this file have it when they are read.
ALTER TABLE otps ADD COLUMN IF NOT EXISTS event_id FixedString(26) DEFAULT toFixedString(concat('evt_', substring(base64URLEncode(SHA256(
    concat(otp_id, '|otp.', if(reason = 'delivery_failed', 'expired', status), '|', toString(if(status = 'pending', length(message_ids), 0)), '||0|')
)), 1, 22)), 26);

ALTER TABLE link_clicks ADD COLUMN IF NOT EXISTS event_id FixedString(26) DEFAULT toFixedString(concat('evt_', substring(base64URLEncode(SHA256(
    concat(click_id, '|click|0||0|')
)), 1, 22)), 26);
