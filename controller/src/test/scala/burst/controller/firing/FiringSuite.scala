package burst.controller.firing

import burst.protocol.{Origin, Timestamp}
import burst.controller.action.*
import burst.controller.limits.MinuteUsed
import burst.controller.scheduler.Refusal
import burst.controller.store.{Blocking, Identity, Samples, StoreRetry}
import burst.controller.trigger.*
import io.circe.syntax.*
import io.circe.{parser, Json, JsonObject}
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.Scheduler
import org.apache.pekko.stream.Materializer
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext}
import scala.jdk.CollectionConverters.*

class FiringSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  private given Materializer = Materializer(kit.system)
  private given Scheduler = kit.system.scheduler
  private given ExecutionContext = kit.system.executionContext
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val caller = Identity("guest", Samples.limits)
  private val headers = JsonObject("user-agent" -> "wsk".asJson)

  private def rule(name: String, action: String, status: RuleStatus = RuleStatus.Active) =
    AttachedRule(name, EntityRef("guest", action), status)

  private def trigger(rules: AttachedRule*) = Trigger(
    "guest",
    "t",
    "0.0.7",
    publish = false,
    JsonObject("a" -> 1.asJson, "b" -> 2.asJson),
    JsonObject.empty,
    Option.when(rules.nonEmpty)(rules.toVector),
    updated = Timestamp.Epoch
  )

  private def fire(invocations: FakeInvocations, trigger: Trigger, payload: (String, Json)*) =
    fired(FakeActions("one", "two"), invocations, trigger, payload*)

  private def fired(
      actions: FakeActions,
      invocations: FakeInvocations,
      trigger: Trigger,
      payload: (String, Json)*
  ) =
    val firing = Firing(
      actions,
      invocations,
      Blocking(kit.system.executionContext),
      _ => (false, "It is not to be."),
      () => Timestamp.ofMillis(17)
    )
    Await.result(
      firing.fire(
        caller,
        trigger,
        JsonObject.fromIterable(payload),
        headers,
        Origin("request1"),
        StoreRetry(20.seconds)
      ),
      30.seconds
    )

  private def logs(invocations: FakeInvocations) =
    invocations.recorded.asScala.toVector.flatMap(_.logs).map(line =>
      parser.parse(line).fold(throw _, identity)
    )

  test("nothing runs, and nothing is recorded, when no rule is active"):
    val invocations = FakeInvocations()
    assertEquals(fire(invocations, trigger()), None)
    assertEquals(fire(invocations, trigger(rule("r", "one", RuleStatus.Inactive))), None)
    assertEquals((invocations.begun.size, invocations.recorded.size), (0, 0))

  test("each active rule's action gets the payload over the parameters, and the headers in any case"):
    val invocations = FakeInvocations()
    val smuggled = "__ow_headers" -> Json.obj("x" -> 1.asJson)
    val id = fire(invocations, trigger(rule("r", "one"), rule("s", "two")), "b" -> 3.asJson, smuggled)
    val begun = invocations.begun.asScala.toVector
    assertEquals(begun.map(_.action.name.path).sorted, Vector("one", "two"))
    val wanted = Json.obj("a" -> 1.asJson, "b" -> 3.asJson, "__ow_headers" -> headers.asJson)
    begun.foreach: one =>
      assertEquals(
        (one.payload, one.caller, one.origin, one.cause),
        (wanted, caller, Origin("request1"), None)
      )
    val record = invocations.recorded.asScala.head
    assertEquals(Some(record.id), id)
    assertEquals(
      (record.namespace, record.name, record.version, record.start),
      ("guest", "t", "0.0.7", Timestamp.ofMillis(17))
    )
    assertEquals((record.end, record.duration, record.status), (None, None, ActivationStatus.Success))
    assertEquals(record.result, Json.obj("b" -> 3.asJson, smuggled))

  test("the record has a line for each rule: what began, or why nothing did"):
    val invocations = FakeInvocations()
    fire(invocations, trigger(rule("r", "one"), rule("s", "gone"), rule("u", "two", RuleStatus.Inactive)))
    val lines = logs(invocations)
    assertEquals(
      lines.map(_.hcursor.get[String]("rule")),
      Vector("guest/r", "guest/s", "guest/u").map(Right(_))
    )
    assertEquals(
      lines.map(_.hcursor.get[String]("action").toOption.get),
      Vector("guest/one", "guest/gone", "guest/two")
    )
    assertEquals(lines.map(_.hcursor.get[Int]("statusCode").toOption.get), Vector(0, 1, 1))
    assertEquals(lines.map(_.hcursor.get[Boolean]("success").toOption.get), Vector(true, false, false))
    assert(lines(0).hcursor.get[String]("activationId").exists(_.length == 32))
    assert(lines(1).hcursor.get[String]("error").exists(_.contains("'/guest/gone'")), lines(1))
    assert(lines(2).hcursor.get[String]("error").exists(_.contains("is inactive")), lines(2))

  test("a refusal or a failure of the platform is noted in its rule's line and stops no other rule"):
    val invocations = FakeInvocations()
    invocations.refusing = Some(InvocationRefusal.FinalParameter("x"))
    assert(fire(invocations, trigger(rule("r", "one"), rule("s", "two"))).isDefined)
    assertEquals(
      logs(invocations).map(_.hcursor.get[String]("error")),
      Vector.fill(2)(Right("It is not to be."))
    )
    val broken = FakeInvocations()
    broken.breaking = true
    assert(fire(broken, trigger(rule("r", "one"), rule("s", "two"))).isDefined)
    assertEquals(logs(broken).map(_.hcursor.get[Int]("statusCode")), Vector.fill(2)(Right(3)))
    // The actions may have begun all the same.
    assertEquals(broken.begun.size, 2)

  test("the payload is rendered once for all rules"):
    val invocations = FakeInvocations()
    val rules = (1 to 20).map(n => rule(s"r$n", "one"))
    fire(invocations, trigger(rules*), "b" -> 3.asJson): Unit
    val texts = invocations.begun.asScala.toVector.map(one => one.text.getOrElse(fail("no payload text")))
    assertEquals(texts.size, 20)
    assert(texts.forall(_ eq texts.head))
    assertEquals(parser.parse(texts.head.bytes.utf8String), Right(invocations.begun.peek.payload))

  test(
    "once the queue is full or the rate used up, the remaining rules get the same reply without being tried"
  ):
    val rules = (1 to 40).map(n => rule(s"r$n", "one"))
    def begun(refusal: InvocationRefusal): Int =
      val invocations = FakeInvocations()
      invocations.refusing = Some(refusal)
      assert(fire(invocations, trigger(rules*)).isDefined)
      assertEquals(
        logs(invocations).map(_.hcursor.get[String]("error")),
        Vector.fill(40)(Right("It is not to be."))
      )
      invocations.begun.size
    for full <- Vector(
        InvocationRefusal.Refused(Refusal.QueueFull(1)),
        InvocationRefusal.RateLimited(MinuteUsed(9, 9, 9.seconds))
      )
    do
      val asked = begun(full)
      assert(asked <= 8, asked)
    assertEquals(begun(InvocationRefusal.FinalParameter("x")), 40)

  test("an action that cannot be read for a moment is read again and begun once"):
    val (actions, invocations) = (FakeActions("one", "two"), FakeInvocations())
    actions.unreadable.set(3)
    assert(fired(actions, invocations, trigger(rule("r", "one"), rule("s", "two"))).isDefined)
    assertEquals(logs(invocations).map(_.hcursor.get[Int]("statusCode")), Vector.fill(2)(Right(0)))
    assertEquals(invocations.begun.asScala.map(_.action.name.path).toVector.sorted, Vector("one", "two"))

  test("a record that cannot be stored for a moment is stored later, and no action is begun twice"):
    val invocations = FakeInvocations()
    invocations.refusedRecords.set(1)
    assert(fire(invocations, trigger(rule("r", "one"))).isDefined)
    assertEquals((invocations.begun.size, invocations.recorded.size), (1, 1))
