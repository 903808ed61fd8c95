"""The project's benchmarks, and what they share: settings, servers, chats, pages."""
