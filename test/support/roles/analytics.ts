// Replaces the real analytics in tests of the supervisor.
import './plain.ts';
