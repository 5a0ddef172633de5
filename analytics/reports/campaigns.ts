// The report of campaigns, as data (report.ts): what became of their messages, and who followed their links.
import { chosenClasses, clicked, clickedShare, humanClicks, linked, ofPeople } from './clicks.ts';
import { accepted, byStatus, deliveredShare, submitted } from './messages.ts';
import { type Report, count, key, overMessages } from './report.ts';

export const campaigns: Report = {
  ...overMessages,
  name: 'campaigns',
  title: 'What campaigns brought',
  description:
    'The messages of each campaign by their present status, and the clicks on their short links, at the time of the acceptance of ' +
    'the message, however late the receipt or the click. `classes` says whose clicks make a message a clicked one. By carrier, ' +
    'messages are at the last carrier that had them, links and clicks at the first of their route.',
  only: 'notRefused',
  groupBy: ['hour', 'day', 'carrier', 'category', 'sender', 'variant'],
  always: [key('campaign', 'its id', 'campaign')],
  measures: [
    accepted,
    ...byStatus,
    deliveredShare('sum(messages)'),
    submitted,
    count(
      'messages_with_links',
      'that were given short links, also what was refused in the last step (docs/clicks.md) and is not in `messages`',
      linked,
    ),
    humanClicks,
    clicked,
    clickedShare('messages_with_links'),
  ],
  reads: ['campaign', 'status', 'messages', 'segments_submitted'],
  beside: { table: 'click_counts', where: ofPeople, reads: ['campaign', 'what', 'classes', 'counts'] },
  counted: 'messages + counts',
  choice: chosenClasses('whose clicks count for `clicked`'),
};
