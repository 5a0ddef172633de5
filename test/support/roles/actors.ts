// Replaces the real actors in tests of the supervisor.
import './plain.ts';
