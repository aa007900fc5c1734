package burst.controller.http

import burst.controller.store.Identity
import org.apache.pekko.http.scaladsl.server.Directives.concat
import org.apache.pekko.http.scaladsl.server.Route

/** Triggers and rules, which run actions without a call to them, in the caller's namespace. */
final class EventsRoutes(triggers: TriggersRoutes, fires: FireRoutes, rules: RulesRoutes):
  def route(caller: Identity): Route =
    concat(triggers.route(caller), fires.route(caller), rules.route(caller))
