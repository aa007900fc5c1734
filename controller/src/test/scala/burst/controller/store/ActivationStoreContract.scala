package burst.controller.store

import burst.controller.flare.{ActivationFields, Flare, FlareState, Output, WorkerResult}
import burst.protocol.{FlareId, JsonText, Timestamp}
import io.circe.JsonObject
import io.circe.syntax.*
import scala.concurrent.duration.{Duration, DurationInt}

/** What every implementation of [[ActivationStore]] must do. */
abstract class ActivationStoreContract extends StorageFixtures:
  private val fields =
    ActivationFields("guest/hello", "0.0.1", "t", 10, 1, None, component = false, None, burst = false, None)

  private def invocation(created: Long, name: String = "hello"): Flare =
    val flare = Samples.flare(created, name = name)
    flare.copy(request = flare.request.copy(activation = Some(fields)))

  private def ended(flare: Flare): Flare =
    flare.copy(state = FlareState.Succeeded, ended = Some(flare.created + 10.micros))

  private def record(created: Long): OpenRecord =
    OpenRecord(
      FlareId.random(),
      "guest",
      "both",
      Timestamp.ofMicros(created),
      JsonObject("name" -> "both".asJson)
    )

  private def ids(found: Vector[StoredActivation]) = found.map(_.id)
  private val all = ActivationFilter()

  storage.test("an invocation is found and listed once it has ended, and other flares never are"): s =>
    val flare = invocation(1000)
    s.flares.insert(flare)
    s.flares.insert(Samples.flare(1001, FlareState.Succeeded))
    assertEquals(s.activations.find("guest", flare.id), None)
    assertEquals(s.activations.list("guest", all, 10, 0), Vector.empty)
    s.flares.addResults(flare.id, Vector(WorkerResult(0, Some(Output.Inline(JsonText("{}"))), None)))
    s.flares.update(ended(flare))
    val found = s.activations.find("guest", flare.id).getOrElse(fail("not found"))
    assertEquals(found.body.toOption.flatMap(_.request.activation), Some(fields))
    assertEquals(found.output, Some(Output.Inline(JsonText("{}"))))
    assertEquals(s.activations.find("other", flare.id), None)
    assertEquals(ids(s.activations.list("guest", all, 10, 0)), Vector(flare.id))
    assertEquals(s.activations.count("guest", all), 1L)

  storage.test("lists are newest first, filtered by name and time, with outputs only if they may be errors"):
    s =>
      val flares = Vector(1000L -> "a", 3000L -> "p/b", 2000L -> "a").map(invocation(_, _))
      flares.zip(Vector("""{"error":1}""", """{"n":1}""", "7")).foreach: (flare, output) =>
        s.flares.insert(flare)
        s.flares.addResults(flare.id, Vector(WorkerResult(0, Some(Output.Inline(JsonText(output))), None)))
        s.flares.update(ended(flare))
      val Vector(first, third, second) = flares.map(_.id): @unchecked
      def listed(filter: ActivationFilter, limit: Int = 10, skip: Int = 0) =
        ids(s.activations.list("guest", filter, limit, skip))
      assertEquals(listed(all), Vector(third, second, first))
      assertEquals(listed(all, limit = 1, skip = 1), Vector(second))
      assertEquals(listed(ActivationFilter(name = Some("a"))), Vector(second, first))
      assertEquals(listed(ActivationFilter(name = Some("p/b"))), Vector(third))
      assertEquals(listed(ActivationFilter(since = Some(Timestamp.ofMicros(2000)))), Vector(third, second))
      assertEquals(listed(ActivationFilter(upto = Some(Timestamp.ofMicros(2000)))), Vector(second, first))
      assertEquals(
        s.activations.count(
          "guest",
          ActivationFilter(name = Some("a"), since = Some(Timestamp.ofMicros(1500)))
        ),
        1L
      )
      val outputs = s.activations.list("guest", all, 10, 0).map(_.output.isDefined)
      assertEquals(outputs, Vector(false, true, true))
      assertEquals(
        ids(s.activations.findNear("guest", FlareId.parse(first.value.dropRight(8) + "0" * 8).get)),
        Vector(first)
      )

  storage.test("a record is found once closed, is never a flare, and is deleted by retention"): s =>
    val open = record(5000)
    s.activations.open(open, 1.minute)
    assertEquals(s.activations.find("guest", open.id), None)
    assertEquals(s.flares.takeUnfinished(), Vector.empty)
    s.activations.close(open, Timestamp.ofMicros(6000), JsonText("[1]"), Vector("one", "two"))
    val found = s.activations.find("guest", open.id).getOrElse(fail("not found"))
    assertEquals(found.body, Left(open.fields))
    assertEquals(found.logs, Vector("one", "two"))
    assertEquals(found.output, Some(Output.Inline(JsonText("[1]"))))
    assertEquals(found.abandoned, None)
    assertEquals(s.flares.find(open.id), None)
    assertEquals(s.flares.list(Some("guest"), None, None, 10, 0), Vector.empty)
    assertEquals(s.flares.countByState(), Map.empty[FlareState, Int])
    assertEquals(s.flares.prune("guest", Timestamp.ofMicros(6000), 10).flares, 1)
    assertEquals(s.activations.find("guest", open.id), None)

  storage.test("a new record can be closed immediately"): s =>
    val fired = record(5000)
    s.activations.close(fired, Timestamp.ofMicros(6000), JsonText("{}"), Vector.empty)
    assertEquals(ids(s.activations.list("guest", all, 10, 0)), Vector(fired.id))

  storage.test("a record that nobody renews is ended, and can still be closed later"): s =>
    val (left, kept) = (record(1000), record(2000))
    Seq(left, kept).foreach(s.activations.open(_, -2.seconds))
    s.activations.renew(Vector(kept.id), 1.minute)
    val known = Vector(left.id, kept.id, FlareId.random())
    assertEquals(s.activations.areOpen(known), Set(left.id, kept.id))
    assertEquals(s.activations.endAbandoned(1.minute, Timestamp.ofMicros(4100)), 0)
    assertEquals(s.activations.endAbandoned(Duration.Zero, Timestamp.ofMicros(4100)), 1)
    assertEquals(s.activations.endAbandoned(Duration.Zero, Timestamp.ofMicros(4100)), 0)
    assertEquals(s.activations.areOpen(known), Set(kept.id))
    assertEquals(s.activations.find("guest", left.id).map(_.abandoned), Some(Some(Timestamp.ofMicros(4100))))
    assertEquals(s.activations.find("guest", kept.id), None)
    s.activations.close(left, Timestamp.ofMicros(4500), JsonText("{}"), Vector.empty)
    assertEquals(s.activations.find("guest", left.id).map(_.abandoned), Some(None))
