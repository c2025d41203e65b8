package resolvers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// What an alert has told, to whom and with what success, as the graph shows it.
func TestAlertHistory(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	var status atomic.Int64
	status.Store(http.StatusTeapot)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte("words of the receiver"))
	}))
	t.Cleanup(receiver.Close)
	at, yes, rate := apitest.Noon, true, 0.25
	var c models.Canonical
	for n := range 4 {
		id := fmt.Sprint(n)
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: "pdf", OccurredAt: &at, Triggered: &yes})
		c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: "pdf", GradedAt: &at, PassRate: &rate})
	}
	_, err := s.Org().Push(t.Context(), &models.Push{ID: ids.New(ids.Push, at), Canonical: c})
	require.NoError(t, err)
	made := s.Query(t, "owner", `mutation($url: JSON!) { createAlert(input: {type: PASS_RATE_BELOW, channel: WEBHOOK, config: $url}) { alert { id } } }`,
		map[string]any{"url": map[string]any{"webhook_url": receiver.URL}})
	id := made["createAlert"].(map[string]any)["alert"].(map[string]any)["id"].(string)
	_, err = s.Store.EvaluateAlerts(t.Context(), time.Hour)
	require.NoError(t, err)

	alert, err := ids.Parse(id)
	require.NoError(t, err)
	told, err := s.Org().NotificationsOf(t.Context(), []ids.ID{alert}, models.Window{Limit: 1})
	require.NoError(t, err)
	job := store.DeliverJob{OrgID: s.Orgs["acme"], NotificationID: told[alert].Nodes[0].ID}
	for _, answer := range []int64{http.StatusTeapot, http.StatusFound, http.StatusAccepted} {
		status.Store(answer)
		_, _, err := s.Alerts.Deliver(t.Context(), s.Store, job)
		require.NoError(t, err)
	}

	data := s.Query(t, "viewer", `query($id: ID!) {
		alert(id: $id) {
			state
			incidents { totalCount nodes { value resolvedAt alert { id } skill { name } } }
			notifications { totalCount nodes { id kind state incident { value } attempts { number status message } } }
		}
		skill(name: "pdf") { alerts { totalCount } incidents { nodes { value alert { id } } } }
	}`, map[string]any{"id": id})
	type object = map[string]any
	require.Equal(t, object{
		"alert": object{
			"state": "FIRING",
			"incidents": object{"totalCount": 1.0, "nodes": []any{
				object{"value": 0.25, "resolvedAt": nil, "alert": object{"id": id}, "skill": object{"name": "pdf"}},
			}},
			"notifications": object{"totalCount": 1.0, "nodes": []any{object{
				"id": job.NotificationID.String(), "kind": "OPENED", "state": "DELIVERED", "incident": object{"value": 0.25},
				"attempts": []any{
					object{"number": 1.0, "status": 418.0, "message": "the endpoint answered 418"},
					object{"number": 2.0, "status": 302.0, "message": "the endpoint answered 302; redirects are not followed"},
					object{"number": 3.0, "status": 202.0, "message": "the endpoint answered 202"},
				},
			}}},
		},
		// An alert that watches every skill is not one of this skill's own; its incidents are.
		"skill": object{"alerts": object{"totalCount": 0.0}, "incidents": object{"nodes": []any{object{"value": 0.25, "alert": object{"id": id}}}}},
	}, data)

	test := s.Query(t, "admin", `mutation($id: ID!) { testAlert(id: $id) { delivered status message } }`, map[string]any{"id": id})
	require.Equal(t, object{"testAlert": object{"delivered": true, "status": 202.0, "message": "the endpoint answered 202"}}, test)
}
