DROP TABLE notification_attempts, notifications, incidents, alerts;
