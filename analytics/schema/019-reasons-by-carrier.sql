-- Reasons of the clicks of campaigns by carrier and half hours: click-reasons by carrier and campaign read the counts themselves for
-- them (docs/decisions/0252-reports-by-campaign.md). One more tier of campaign_click_tiers, fed by the view that is there: a row
-- more for each count of clicks with a campaign, and no insert.
ALTER TABLE campaign_click_tiers_feed MODIFY QUERY
SELECT account_id, livemode, tier, what, classes, campaign_id, toDateTime(intDiv(toUnixTimestamp(slot), seconds) * seconds, 'UTC') AS slot,
    variant_id, category, if(tier = 'reasons', '', carrier) AS carrier, sender, if(of_reasons, reasons, '') AS reasons,
    if(of_times, bucket, 0) AS bucket, counts
FROM
(
    SELECT *, tier, if(endsWith(tier, '_6h'), 21600, 1800) AS seconds, startsWith(tier, 'reasons') AS of_reasons,
        startsWith(tier, 'clicks_by_time') AS of_times
    FROM click_counts
    ARRAY JOIN ['clicks', 'clicks_6h', 'clicks_by_time', 'clicks_by_time_6h', 'reasons', 'reasons_by_carrier', 'reasons_6h'] AS tier
    WHERE campaign_id != '' AND NOT (startsWith(tier, 'reasons') AND what != 'clicks')
);

FILL campaign_click_tiers_feed;
