// Replaces the real simulator in tests of the supervisor.
import './plain.ts';
