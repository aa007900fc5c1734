//! OpenWhisk's actions, triggers and rules, and the records of activations.

use burst_client::{ListActivationsQuery, PutActionQuery, PutRuleQuery, PutTriggerQuery};
use serde_json::{Value, json};

use crate::api::{END_LIMIT, read_answer, read_json};
use crate::{Answer, Api, wait};

impl Api {
    /// Stores an action, replacing any other one of this name.
    #[track_caller]
    pub fn put_action(&self, name: &str, action: &Value) {
        let overwrite = Some(true);
        let query = PutActionQuery { overwrite };
        read_answer(self.client().put_action(name, &query, action));
    }

    /// Creates a trigger.
    #[track_caller]
    pub fn put_trigger(&self, name: &str) {
        let query = PutTriggerQuery::default();
        read_answer(self.client().put_trigger(name, &query, &json!({})));
    }

    /// Creates a rule by which a trigger fires an action.
    #[track_caller]
    pub fn put_rule(&self, name: &str, trigger: &str, action: &str) {
        let rule = json!({"trigger": format!("/_/{trigger}"), "action": format!("/_/{action}")});
        read_answer(
            self.client()
                .put_rule(name, &PutRuleQuery::default(), &rule),
        );
    }

    /// Starts an invocation and returns its id.
    #[track_caller]
    pub fn begin(&self, name: &str, input: &Value) -> String {
        let begun: Value = self.post(&format!("actions/{name}"), input).expect(202);
        begun["activationId"].as_str().unwrap().to_owned()
    }

    /// Invokes an action and waits for the activation record.
    #[track_caller]
    pub fn invoke(&self, name: &str, input: &Value) -> Answer {
        self.post(&format!("actions/{name}?blocking=true"), input)
    }

    /// Invokes an action and waits for the result only.
    #[track_caller]
    pub fn invoke_for_result(&self, name: &str, input: &Value) -> Answer {
        self.post(&format!("actions/{name}?blocking=true&result=true"), input)
    }

    /// Returns an activation's record, none while it has not ended.
    #[track_caller]
    pub fn activation(&self, id: &str) -> Option<Value> {
        match self.client().get_activation(id) {
            Err(cause) if cause.status() == Some(404) => None,
            record => Some(read_json(record)),
        }
    }

    /// The same while controllers are being replaced, when a request can fail for a moment.
    #[track_caller]
    pub fn activation_amid_faults(&self, id: &str) -> Option<Value> {
        match self.client().get_activation(id) {
            Err(cause) if matches!(cause.status(), Some(404 | 503)) => None,
            record => Some(read_json(record)),
        }
    }

    /// Waits until an activation has ended and returns its record.
    #[track_caller]
    pub fn ended_activation(&self, id: &str) -> Value {
        wait::until("the activation ends", END_LIMIT, || {
            self.activation_amid_faults(id)
        })
    }

    /// The newest records.
    #[track_caller]
    pub fn activations(&self, query: &ListActivationsQuery) -> Vec<Value> {
        serde_json::from_value(read_json(self.client().list_activations(query))).unwrap()
    }

    /// Returns how many records exist, of one action or of all.
    #[track_caller]
    pub fn count_activations(&self, name: Option<&str>) -> u64 {
        let query = ListActivationsQuery {
            name: name.map(str::to_owned),
            count: Some(true),
            ..ListActivationsQuery::default()
        };
        read_json(self.client().list_activations(&query))["activations"]
            .as_u64()
            .unwrap()
    }
}
