package burst.controller.store

import burst.controller.store.Samples.{definition, put}
import burst.controller.trigger.*
import burst.protocol.Timestamp
import io.circe.JsonObject
import io.circe.syntax.*
import java.util.concurrent.{Callable, Executors}
import scala.jdk.CollectionConverters.*

/** What every implementation of [[TriggerStore]] and [[RuleStore]] must do. */
abstract class TriggerStoreContract extends StorageFixtures:
  private val action = EntityRef("guest/tools", "hello")
  private val given1 = JsonObject("a" -> "héllo \u0000 😀".asJson)

  private def trigger(
      s: Storage,
      name: String = "t",
      change: TriggerChange = TriggerChange(),
      now: Timestamp = Timestamp.ofMicros(1)
  ) =
    s.triggers.put("guest", name, overwrite = true, change, 100, now)

  private def rule(
      s: Storage,
      name: String = "r",
      change: RuleChange = RuleChange(trigger = Some("t"), action = Some(action)),
      now: Timestamp = Timestamp.ofMicros(1)
  ) =
    s.rules.put("guest", name, overwrite = true, change, 100, now)

  private def statusIn(s: Storage, name: String = "t") =
    s.triggers.find("guest", name).flatMap(_.rules).map(_.map(rule => rule.name -> rule.status))

  storage.test("an unknown trigger or rule is not found, not listed, not counted and not deleted"): s =>
    assertEquals(s.triggers.find("guest", "t"), None)
    assertEquals(s.triggers.list("guest", 10, 0), Vector.empty)
    assertEquals(s.triggers.count("guest") + s.rules.count("guest"), 0)
    assertEquals(s.triggers.delete("guest", "t"), None)
    assertEquals(s.rules.find("guest", "r"), None)
    assertEquals(s.rules.list("guest", 10, 0), Vector.empty)
    assertEquals(s.rules.delete("guest", "r"), None)
    assertEquals(
      s.rules.setStatus("guest", "r", RuleStatus.Active),
      Left(TriggerRefusal.NoSuchRule("r"))
    )

  storage.test("a trigger is stored as given, and a change keeps what it does not set"): s =>
    val first = trigger(s, change = TriggerChange(parameters = Some(given1), annotations = Some(given1)))
    val whole = Trigger("guest", "t", "0.0.1", false, given1, given1, None, Timestamp.ofMicros(1))
    assertEquals(first, Right(whole))
    assertEquals(s.triggers.find("guest", "t"), Some(whole))
    val next = whole.copy(
      version = "0.0.2",
      publish = true,
      parameters = JsonObject.empty,
      updated = Timestamp.ofMicros(2)
    )
    val change = TriggerChange(publish = Some(true), parameters = Some(JsonObject.empty))
    assertEquals(trigger(s, change = change, now = Timestamp.ofMicros(2)), Right(next))
    assertEquals(s.triggers.find("guest", "t"), Some(next))
    assertEquals(trigger(s, change = TriggerChange(version = Some("7.0.9"))).map(_.version), Right("7.0.9"))
    assertEquals(trigger(s).map(_.version), Right("7.0.10"))
    assertEquals(
      s.triggers.put("guest", "t", overwrite = false, TriggerChange(), 100, Timestamp.ofMicros(3)),
      Left(TriggerRefusal.Exists("t"))
    )

  storage.test("a list is brief, has one namespace's entries, and is newest first"): s =>
    Vector("a", "b", "c").zipWithIndex.foreach((name, at) =>
      trigger(s, name, TriggerChange(parameters = Some(given1)), Timestamp.ofMicros(at))
      rule(s, s"r$name", RuleChange(trigger = Some(name), action = Some(action)), Timestamp.ofMicros(at))
    )
    assertEquals(s.triggers.list("guest", 2, 0).map(_.name), Vector("c", "b"))
    assertEquals(
      s.triggers.list("guest", 10, 2).map(t => t.name -> t.parameters),
      Vector("a" -> JsonObject.empty)
    )
    assertEquals(s.rules.list("guest", 2, 1).map(r => r.name -> r.trigger), Vector("rb" -> "b", "ra" -> "a"))
    assertEquals((s.triggers.count("guest"), s.rules.count("guest"), s.rules.count("other")), (3, 3, 0))
    assertEquals(s.triggers.list("other", 10, 0) ++ s.rules.list("other", 10, 0), Vector.empty)

  storage.test("a namespace at its limit gets no more entries, and can change those it has"): s =>
    trigger(s, "t")
    def put(name: String) =
      s.triggers.put("guest", name, overwrite = true, TriggerChange(), 1, Timestamp.ofMicros(1))
    assertEquals(put("more"), Left(TriggerRefusal.TooMany(1)))
    assert(put("t").isRight)
    val change = RuleChange(trigger = Some("t"), action = Some(action))
    def putRule(name: String) = s.rules.put("guest", name, overwrite = true, change, 1, Timestamp.ofMicros(1))
    assertEquals((putRule("r").isRight, putRule("more")), (true, Left(TriggerRefusal.TooMany(1))))

  storage.test("a new rule needs an existing trigger and an action"): s =>
    assertEquals(rule(s), Left(TriggerRefusal.NoTriggerFor("t")))
    trigger(s)
    val halves = Vector(RuleChange(trigger = Some("t")), RuleChange(action = Some(action)))
    halves.foreach(half => assertEquals(rule(s, change = half), Left(TriggerRefusal.NoTriggerOrAction)))
    assertEquals(s.rules.count("guest"), 0)
    assertEquals(s.triggers.find("guest", "t").flatMap(_.rules), None)

  storage.test("a new rule is active, and a change keeps its status and what it does not set"): s =>
    trigger(s)
    val first = rule(s)
    val whole =
      Rule(
        "guest",
        "r",
        "0.0.1",
        false,
        "t",
        action,
        RuleStatus.Active,
        JsonObject.empty,
        Timestamp.ofMicros(1)
      )
    assertEquals(first, Right(whole))
    assertEquals(s.rules.find("guest", "r"), Some(whole))
    assertEquals(statusIn(s), Some(Vector("r" -> RuleStatus.Active)))
    assertEquals(s.rules.setStatus("guest", "r", RuleStatus.Inactive), Right(()))
    val other = EntityRef("guest", "other")
    val next = whole.copy(
      version = "0.0.2",
      action = other,
      status = RuleStatus.Inactive,
      updated = Timestamp.ofMicros(2)
    )
    assertEquals(rule(s, change = RuleChange(action = Some(other)), now = Timestamp.ofMicros(2)), Right(next))
    assertEquals(statusIn(s), Some(Vector("r" -> RuleStatus.Inactive)))
    assertEquals(
      s.rules.put("guest", "r", overwrite = false, RuleChange(), 100, Timestamp.ofMicros(3)),
      Left(TriggerRefusal.Exists("r"))
    )

  storage.test("a rule that moves to another trigger leaves the former one"): s =>
    Vector("t", "u").foreach(trigger(s, _))
    rule(s)
    assertEquals(
      rule(s, change = RuleChange(trigger = Some("none"))),
      Left(TriggerRefusal.NoTriggerFor("none"))
    )
    assert(rule(s, change = RuleChange(trigger = Some("u"))).isRight)
    assertEquals(
      (statusIn(s, "t"), statusIn(s, "u")),
      (Some(Vector.empty), Some(Vector("r" -> RuleStatus.Active)))
    )

  storage.test("a changed trigger keeps its rules, and loses a deleted one"): s =>
    trigger(s)
    rule(s)
    trigger(s, change = TriggerChange(publish = Some(true)))
    assertEquals(statusIn(s), Some(Vector("r" -> RuleStatus.Active)))
    assertEquals(s.rules.delete("guest", "r").map(_.name), Some("r"))
    assertEquals(statusIn(s), Some(Vector.empty))
    assertEquals(s.rules.find("guest", "r"), None)

  storage.test(
    "rules of a deleted trigger are inactive until they are set active with a new trigger"
  ): s =>
    trigger(s)
    rule(s)
    assertEquals(s.triggers.delete("guest", "t").flatMap(_.rules).map(_.map(_.name)), Some(Vector("r")))
    def status = s.rules.find("guest", "r").map(_.status)
    assertEquals(status, Some(RuleStatus.Inactive))
    assertEquals(s.rules.setStatus("guest", "r", RuleStatus.Inactive), Right(()))
    assertEquals(s.rules.setStatus("guest", "r", RuleStatus.Active), Left(TriggerRefusal.TriggerGone("t")))
    trigger(s)
    assertEquals((status, statusIn(s)), (Some(RuleStatus.Inactive), None))
    assertEquals(s.rules.setStatus("guest", "r", RuleStatus.Active), Right(()))
    assertEquals((status, statusIn(s)), (Some(RuleStatus.Active), Some(Vector("r" -> RuleStatus.Active))))

  storage.test("actions, packages, triggers and rules share one set of names"): s =>
    trigger(s)
    rule(s)
    put(s, definition("an-action"))
    assertEquals(trigger(s, "r"), Left(TriggerRefusal.NameTaken("r", "rule")))
    assertEquals(rule(s, "t"), Left(TriggerRefusal.NameTaken("t", "trigger")))
    assertEquals(trigger(s, "an-action"), Left(TriggerRefusal.NameTaken("an-action", "action")))
    assertEquals(put(s, definition("t")), Left(DeployRefusal.NameTaken(Collection.Triggers)))
    assertEquals(put(s, definition("r")), Left(DeployRefusal.NameTaken(Collection.Rules)))

  sharing.test("concurrent creations do not exceed the limit"): (one, other) =>
    one.namespaces.create("guest")
    val threads = Executors.newFixedThreadPool(6)
    val puts = (1 to 24).map: n =>
      new Callable[Boolean]:
        def call(): Boolean =
          val s = if n % 2 == 0 then one else other
          s.triggers.put(
            "guest",
            s"t$n",
            overwrite = false,
            TriggerChange(),
            5,
            Timestamp.ofMicros(n)
          ).isRight
    try assertEquals(threads.invokeAll(puts.asJava).asScala.count(_.get), 5)
    finally threads.shutdownNow()
    assertEquals(one.triggers.count("guest"), 5)
