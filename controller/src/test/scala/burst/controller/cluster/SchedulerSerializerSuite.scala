package burst.controller.cluster

import burst.controller.definition.SealedEnvironment
import burst.controller.flare.{Output, PackRecord, Submission, WorkerRecord, WorkerResult, WorkerState}
import burst.controller.scheduler.*
import burst.controller.scheduler.GangScheduler.*
import burst.protocol.*
import com.typesafe.config.ConfigFactory
import java.io.NotSerializableException
import org.apache.pekko.actor.ExtendedActorSystem
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.scaladsl.adapter.TypedActorSystemOps

/** Messages between controllers and the scheduler arrive as they were sent. */
class SchedulerSerializerSuite extends munit.FunSuite:
  private lazy val kit = ActorTestKit(ConfigFactory.load())
  override def afterAll(): Unit = kit.shutdownTestKit()

  private def travels(message: Any): Unit =
    val _ = kit.serializationTestKit.verifySerialization(message)

  test("requests"):
    val id = FlareId.random()
    val cancelled = kit.createTestProbe[CancelOutcome]().ref
    CancelledBy.values.foreach(by => travels(Cancel(id, by, cancelled)))
    travels(Submit(Samples.request(2), 7, kit.createTestProbe[Submitted]().ref))
    val keyed = Samples.request(2).copy(
      submission = Some(Submission("key", "digest")),
      origin = Some(Origin("request1", Some(TraceContext.of("a" * 32, "b" * 16, sampled = true))))
    )
    travels(Submit(keyed, 7, kit.createTestProbe[Submitted]().ref))
    travels(Submit(Samples.request(2), 7, kit.createTestProbe[Submitted]().ref, Some(id)))
    travels(Await(id, kit.createTestProbe[Awaited]().ref))
    travels(Locate(id, kit.createTestProbe[Located]().ref))
    travels(ListInvokers(kit.createTestProbe[InvokerList]().ref))
    travels(EndNamespace("team", kit.createTestProbe[NamespaceEnded.type]().ref))
    travels(ReopenNamespace("team"))
    travels(Drain(InvokerId("a"), on = true, kit.createTestProbe[Drained]().ref))

  test("answers"):
    CancelOutcome.values.foreach(travels)
    travels(NamespaceEnded)
    travels(Awaited.NotActive)
    travels(Located(None))
    travels(Located(Some(QueueEstimate(1, Right(Timestamp.ofMicros(5))))))
    WaitsFor.values.foreach(why => travels(Located(Some(QueueEstimate(1, Left(why))))))
    val refusals = Vector(
      Refusal.TooLarge(9, 8),
      Refusal.UnitTooLarge(5, 4),
      Refusal.UnitsTooLarge(8, 3, 6, 8),
      Refusal.NamespaceRevoked,
      Refusal.NoInvokers,
      Refusal.AlreadySubmitted
    )
    refusals.foreach(refusal => travels(Submitted.Refused(refusal)))
    val status = InvokerStatus(InvokerId("a"), 8, 0.5, "process", 0, RuntimeInfo("x86_64", "2.36"))
    travels(InvokerList(Vector(
      InvokerView(status, 8, up = true),
      InvokerView(status, 8, up = true, Some(Suspicion("no room on the disk", Timestamp.ofMicros(5))))
    )))
    travels(Drained(None))
    travels(Drained(Some(InvokerView(status, 8, up = true, usedSlots = 3, drained = true))))

  test("time-outs are milliseconds between controllers of any release"):
    val serializer = SchedulerSerializer(kit.system.toClassic.asInstanceOf[ExtendedActorSystem])
    val submit = Submit(Samples.request(2), 7, kit.createTestProbe[Submitted]().ref)
    assert(String(serializer.toBinary(submit)).contains(""""timeout":60000"""))

  test("messages have the names that the previous release gave them"):
    val serializer = SchedulerSerializer(kit.system.toClassic.asInstanceOf[ExtendedActorSystem])
    val names = Vector(
      "submit",
      "cancel",
      "end-namespace",
      "reopen-namespace",
      "await",
      "locate",
      "drain",
      "list-invokers",
      "submitted",
      "awaited",
      "cancelled",
      "namespace-ended",
      "located",
      "invokers",
      "drained"
    )
    names.foreach: name =>
      // An answer without content has none to be damaged.
      if name != "namespace-ended" then
        val refused =
          intercept[NotSerializableException](serializer.fromBinary(Array.emptyByteArray, s"$name/2"))
        assert(!refused.getMessage.contains("unknown"), refused.getMessage)
    assertEquals(serializer.manifest(NamespaceEnded), "namespace-ended/2")

  test("the largest request fits whatever its text, and so do the invokers' statuses"):
    val serializer = SchedulerSerializer(kit.system.toClassic.asInstanceOf[ExtendedActorSystem])
    val artery = ConfigFactory.parseResources("cluster.conf").getConfig("pekko.remote.artery.advanced")
    val largest = ConfigFactory.load().getBytes("burst.http.flare-body-limit").toInt
    val asker = kit.createTestProbe[Submitted]().ref
    Vector("x", "\"", "\n", "\u007f").foreach: character =>
      val inputs = Inputs.Shared(JsonText(character * largest))
      val bytes = serializer.toBinary(Submit(Samples.request(2).copy(inputs = inputs), 7, asker))
      assert(bytes.length < artery.getBytes("maximum-large-frame-size"), s"${bytes.length} bytes")
    val definition = Samples.request(1).definition
    val warm = Vector.tabulate(64)(n => WarmPack(definition.copy(version = s"0.0.$n"), 256)).toSet
    val views = Vector.tabulate(1000): n =>
      val status =
        InvokerStatus(InvokerId(s"host-$n"), 8, 0.5, "docker", 64, RuntimeInfo("x86_64", "2.36"), 2, warm)
      InvokerView(status, 8, up = true)
    assert(serializer.toBinary(InvokerList(views)).length < artery.getBytes("maximum-frame-size"))

  test("a store failure arrives with its reason, and an ended flare as not active"):
    val serializer = SchedulerSerializer(kit.system.toClassic.asInstanceOf[ExtendedActorSystem])
    def arrived(message: AnyRef) =
      serializer.fromBinary(serializer.toBinary(message), serializer.manifest(message))
    arrived(Submitted.NotStored("insert", RuntimeException("no disk"))) match
      case Submitted.NotStored("insert", cause) => assertEquals(cause.getMessage, "no disk")
      case other => fail(s"arrived as $other")
    val flare = AdmissionControl.accept(Samples.request(2), Timestamp.ofMicros(7))
    assertEquals(arrived(Awaited.Ended(flare)), Awaited.NotActive)
    assertEquals(serializer.manifest(Awaited.NotActive), "awaited/2")
    arrived(Submitted.Accepted(flare)) match
      case Submitted.Accepted(summary, results) =>
        assertEquals((summary.id, summary.request.inputs), (flare.id, Inputs.Hidden))
        assertEquals((summary.workers, results), (Vector.empty, Vector.empty))
      case other => fail(s"arrived as $other")

  test("a flare arrives with the results of its end, but without its inputs and environment"):
    val serializer = SchedulerSerializer(kit.system.toClassic.asInstanceOf[ExtendedActorSystem])
    val accepted = AdmissionControl.accept(Samples.request(2), Timestamp.ofMicros(7))
    val worker = WorkerRecord(
      0,
      Some(PackId(0)),
      WorkerState.Succeeded,
      Some(Timestamp.ofMicros(1)),
      Some(Timestamp.ofMicros(2)),
      None
    )
    val pack = PackRecord(PackId(0), InvokerId("i"), Vector(0, 1), Some(PackStart.Warm))
    val failure = Failure(FailureKind.Panic, "boom", worker = Some(1))
    val flare = accepted.copy(workers = Vector(worker), packs = Vector(pack), error = Some(failure))
    val results = Vector(
      WorkerResult(0, Some(Output.Inline(JsonText("""{"a":"\u0000"}"""))), None),
      WorkerResult(1, None, Some(failure))
    )
    val message = Awaited.Ended(flare, results)
    val bytes = serializer.toBinary(message)
    val visible = flare.request.copy(inputs = Inputs.Hidden, environment = SealedEnvironment.Empty)
    assertEquals(
      serializer.fromBinary(bytes, serializer.manifest(message)),
      Awaited.Ended(flare.copy(request = visible), results)
    )
    // The previous release reads it as "not active".
    assertEquals(serializer.manifest(message), serializer.manifest(Awaited.NotActive))
    val submitted = Submitted.Accepted(flare, results)
    assertEquals(
      serializer.fromBinary(serializer.toBinary(submitted), serializer.manifest(submitted)),
      Submitted.Accepted(flare.copy(request = visible), results)
    )

  test("messages of another version, or only for this controller, are refused by name"):
    val serializer = SchedulerSerializer(kit.system.toClassic.asInstanceOf[ExtendedActorSystem])
    val message = ReopenNamespace("team")
    val (name, next) = ("reopen-namespace", 3)
    assertEquals(serializer.manifest(message), s"$name/2")
    val refused = intercept[NotSerializableException]:
      serializer.fromBinary(serializer.toBinary(message), s"$name/$next")
    assert(refused.getMessage.contains(s"$name/$next") && !refused.getMessage.contains("team"))
    intercept[NotSerializableException](serializer.toBinary(InvokerForgotten(InvokerId("i")))): Unit
