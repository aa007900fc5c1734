package burst.controller.action

import burst.controller.placement.Packing
import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.builtin.Utils
import burst.controller.definition.{ActionFields, FlareTerms}
import burst.controller.flare.{FlareRequest, FlareState, Output, Submission, WorkerResult}
import burst.controller.http.FakeFlareService
import burst.controller.http.FakeFlareService.ended
import burst.controller.json.JsonPieces
import burst.controller.limits.MinuteCounts
import burst.controller.scheduler.Refusal
import burst.controller.store.{
  ActivationStore,
  Blocking,
  EmbeddedStorage,
  Identity,
  OpenRecord,
  ResultReader,
  Samples,
  Storage,
  StoreException,
  StoreRetry,
  Transfers
}
import burst.node.MonotonicTime
import burst.protocol.{FlareId, Inputs, JsonText, Origin, Timestamp}
import io.circe.syntax.*
import io.circe.{parser, Json, JsonObject}
import java.util.concurrent.{CountDownLatch, Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.{ActorSystem, Scheduler}
import scala.concurrent.duration.{DurationInt, DurationLong, FiniteDuration}
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.Try

/** Sequences and conductors whose programs are functions of this test. */
class CompositionsSuite extends EmbeddedStorage:
  private val kit = ActorTestKit()
  private given ExecutionContext = kit.system.executionContext
  private given Scheduler = kit.system.scheduler
  private val retry = StoreRetry(2.minutes)

  /** The only thread for blocking database calls, so that anything else that blocks it is noticed. */
  private val stores = Executors.newSingleThreadExecutor()
  override def afterAll(): Unit =
    kit.shutdownTestKit()
    stores.shutdown()

  private val caller = Identity("guest", Samples.limits)
  private val pieces = JsonPieces(256)
  private val terms = FlareTerms(None, Packing.Mixed, "direct", None, 60.seconds, 256, 0)

  private final class Setup(val storage: Storage):
    val service = FakeFlareService(storage.flares)
    service.ending = ended(FlareState.Succeeded)
    var known = Map.empty[String, Action]
    var programs = Map.empty[String, Json => Json]
    var builtIns = Map.empty[String, BuiltIn]
    var stateMemory = StateBudget.total
    val counts = MinuteCounts(() => Timestamp.Epoch)
    def taken: Int = counts.take("guest", 0).fold(_.count, _ => 0)

    /** How many more reads of an action fail. */
    val failing = AtomicInteger()
    val actions = new Actions:
      def find(caller: Identity, name: ActionName) =
        if failing.getAndUpdate(left => (left - 1).max(0)) > 0 then
          throw StoreException("reading an action", RuntimeException("no connection"))
        if name.namespace == "secret" then Left(ActionProblem.NotEntitled) else find(name)
      def find(name: ActionName) = known.get(name.qualified).toRight(ActionProblem.NoSuchAction(name))

    /** How many more reads of results fail. */
    val unreadable = AtomicInteger()
    private val results = new ResultReader:
      export storage.flares.attempt
      def results(id: FlareId, from: Int, until: Int) =
        if unreadable.getAndUpdate(left => (left - 1).max(0)) > 0 then
          throw StoreException("reading results", RuntimeException("no connection"))
        storage.flares.results(id, from, until)

    /** Called before a piece is read from the bucket. */
    @volatile var beforePiece: () => Unit = () => ()
    private val blobs = new FlareBlobStore:
      export storage.blobs.{close as _, piece as _, probe as _, read as _, *}
      def piece(id: FlareId, name: BlobName, from: Long, length: Int) =
        beforePiece()
        storage.blobs.piece(id, name, from, length)
    val activations = Activations(storage.activations, results, blobs, pieces)
    val blocking = Blocking(ExecutionContext.fromExecutor(stores))

    /** Called to open a record: stores it with its second argument, or does not. */
    @volatile var opening: (OpenRecord, () => Unit) => Unit = (_, store) => store()
    private val opened = new ActivationStore:
      export storage.activations.{open as _, *}
      def open(record: OpenRecord, recordLease: FiniteDuration): Unit =
        opening(record, () => storage.activations.open(record, recordLease))
    val records = Records(opened, blocking, 30.seconds, retry)
    lazy val invocations =
      FlareInvocations(
        service,
        actions,
        BuiltIns(builtIns),
        activations,
        records,
        counts,
        terms,
        pieces,
        blocking,
        Transfers(summon[ExecutionContext]),
        1.minute,
        retry,
        stateMemory
      )
    service.program = Some(run)

    private def run(request: FlareRequest): JsonText = request.inputs match
      case Inputs.Shared(text) =>
        val input = parser.parse(text.bytes.utf8String).fold(throw _, identity)
        JsonText.of(programs(request.definition.name)(input))
      case other => throw AssertionError(s"unexpected inputs $other")

    def add(name: String, fields: ActionFields, kind: String, parameters: JsonObject): Unit =
      val own = ActionName("guest", None, name)
      val definition = Samples.definition(name).copy(kind = kind, version = "0.0.1", action = fields)
      known = known.updated(own.qualified, Action(own, definition, parameters, JsonObject.empty))

    def program(name: String, parameters: JsonObject = JsonObject.empty)(run: Json => Json): Unit =
      programs = programs.updated(name, run)
      add(name, ActionFields(), "rust", parameters)

    def conductor(name: String)(run: Json => Json): Unit =
      programs = programs.updated(name, run)
      add(name, ActionFields(annotations = JsonObject("conductor" -> true.asJson)), "rust", JsonObject.empty)

    /** Adds a built-in action to `/whisk.system/utils`. */
    def builtIn(name: String, parameters: JsonObject = JsonObject.empty)(run: BuiltIn): Unit =
      val own = ActionName(BuiltIns.Namespace, Some("utils"), name)
      val definition = Samples.definition(own.path, BuiltIns.Namespace).copy(kind = BuiltIns.Kind)
      known = known.updated(own.qualified, Action(own, definition, parameters, JsonObject.empty))
      builtIns = builtIns.updated(own.path, run)

    /** Adds the platform's own action of this name. */
    def utils(name: String, parameters: JsonObject = JsonObject.empty): Unit =
      builtIn(name, parameters)(Utils.all("https://burst.example.org")(name))

    /** Begins an action, with an idempotency key if one is given. */
    def begin(action: String, key: Option[String]): Future[Either[InvocationRefusal, Begun]] =
      invocations.begin(
        caller,
        known(action),
        JsonText.EmptyObject,
        Origin("transaction"),
        submission = key.map(Submission(_, "digest"))
      )

    def sequence(name: String, components: String*): Unit =
      addSequence(name, components.map(part => s"/guest/$part")*)

    def addSequence(name: String, components: String*): Unit =
      val fields = ActionFields(components = components.toVector)
      add(name, fields, "sequence", JsonObject("_actions" -> components.asJson))

    def invoke(name: String, payload: Json = Json.obj()): Activation =
      val call = Invocation(caller, known(s"/guest/$name"), payload, Origin("transaction"))
      Await.result(invocations.invoke(call, Some(20.seconds)), 30.seconds) match
        case Right(Invoked.Ended(activation)) => activation
        case other => fail(s"did not end: $other")

    def stored(id: String): Activation =
      FlareId.parse(id).flatMap(activations.find(
        "guest",
        _
      )).map(_.activation).getOrElse(fail(s"no record $id"))

  private def setup(name: String)(body: Setup => Unit)(using munit.Location): Unit =
    storage.test(name)(storage => body(Setup(storage)))

  private def add(n: Int)(input: Json): Json =
    Json.obj("n" -> (input.hcursor.get[Int]("n").getOrElse(0) + n).asJson)

  private def n(activation: Activation): Option[Int] = activation.result.hcursor.get[Int]("n").toOption

  private def head(name: String) = ActivationHead(
    FlareId.random(),
    "guest",
    name,
    "0.0.1",
    "guest",
    Timestamp.ofMillis(1700000000000L),
    None,
    None,
    None,
    ActivationStatus.Success,
    JsonObject.empty
  )

  private def annotation(activation: Activation, name: String) = activation.annotations(name)

  setup("a sequence passes each result to the next component and records every activation"): s =>
    s.program("one")(add(1))
    s.program("ten", JsonObject("kept" -> 1.asJson))(input =>
      if input.hcursor.get[Int]("kept") == Right(1) then add(10)(input) else Json.Null
    )
    s.sequence("both", "one", "ten")
    s.known = s.known.updatedWith("/guest/one")(_.map: one =>
      one.copy(definition = one.definition.copy(options = one.definition.options.copy(memory = Some(512)))))
    val whole = s.invoke("both", Json.obj("n" -> 5.asJson))
    assertEquals(whole.status, ActivationStatus.Success)
    assertEquals(n(whole), Some(16))
    assertEquals(annotation(whole, "path"), Some("guest/both".asJson))
    val limits = Json.obj(
      "timeout" -> 5000.asJson,
      "memory" -> 512.asJson, // The largest memory of any of its parts.
      "logs" -> 10.asJson,
      "concurrency" -> 1.asJson
    )
    assertEquals(annotation(whole, "limits"), Some(limits))
    assertEquals(annotation(whole, "kind"), Some("sequence".asJson))
    assertEquals(annotation(whole, "topmost"), Some(true.asJson))
    assertEquals(whole.logs.size, 2)
    assertEquals(s.stored(whole.id.value), whole)
    val parts = whole.logs.map(s.stored)
    assertEquals(parts.map(_.name), Vector("one", "ten"))
    parts.foreach: part =>
      assertEquals(part.head.cause, Some(whole.id))
      assertEquals(annotation(part, "causedBy"), Some("sequence".asJson))
    assertEquals(whole.duration, Some(parts.flatMap(_.duration).reduce(_ + _)))
    // Each component is a flare; the sequence is not.
    assertEquals(s.taken, 2)
    assertEquals(s.storage.flares.list(Some("guest"), None, None, 10, 0).size, 2)
    assertEquals(s.storage.flares.find(whole.id), None)

  setup("a component's error ends a sequence, one in the payload does not; arrays are passed on"): s =>
    s.program("fails")(_ => Json.obj("error" -> "enough".asJson))
    s.program("never")(_ => fail("a component ran after an error"))
    s.program("list")(_ => Json.arr(1.asJson, 2.asJson))
    s.program("count")(input => Json.obj("n" -> input.asArray.fold(0)(_.size).asJson))
    s.sequence("ended", "list", "fails", "never")
    s.sequence("counted", "list", "count")
    val whole = s.invoke("ended", Json.obj("error" -> "before".asJson))
    assertEquals(whole.status, ActivationStatus.ApplicationError)
    assertEquals(whole.result, Json.obj("error" -> "enough".asJson))
    assertEquals(whole.logs.size, 2)
    assertEquals(n(s.invoke("counted")), Some(2))

  setup("sequences can be nested, up to 50 actions in all, and a cycle of them ends with an error"): s =>
    s.program("one")(add(1))
    s.sequence("five", Seq.fill(5)("one")*)
    s.sequence("most", Seq.fill(8)("five")*)
    assertEquals(n(s.invoke("most")), Some(40))
    s.sequence("more", Seq.fill(11)("five")*)
    val whole = s.invoke("more")
    assertEquals(whole.status, ActivationStatus.ApplicationError)
    assertEquals(whole.result, Json.obj("error" -> "Too many actions in the sequence.".asJson))
    s.sequence("round", "about")
    s.sequence("about", "round")
    assertEquals(s.invoke("round").status, ActivationStatus.ApplicationError)

  setup("an action that the controller runs itself is recorded like any other"): s =>
    s.utils("echo")
    s.program("one")(add(1))
    s.addSequence("echoed", "/whisk.system/utils/echo", "/guest/one")
    val whole = s.invoke("echoed", Json.obj("n" -> 1.asJson))
    assertEquals(n(whole), Some(2))
    assertEquals(whole.logs.map(s.stored).map(_.name), Vector("echo", "one"))

  setup("an oversized result of an action that the controller runs is an application error"): s =>
    s.utils("split")
    s.utils("smash", JsonObject("$fieldName" -> "payload".asJson))
    // Each pair triples its payload.
    val parts = Vector.fill(7)(Vector("split", "smash").map(name => s"/whisk.system/utils/$name")).flatten
    s.addSequence("grows", parts*)
    val whole = s.invoke("grows", Json.obj("payload" -> ("a\n" * 1000).asJson))
    assertEquals(whole.status, ActivationStatus.ApplicationError)
    val error = whole.result.hcursor.get[String]("error").getOrElse("")
    assert(error.contains("exceeded the allowed length") && error.length < 2000, error.take(2000))
    val results = whole.logs.map(s.stored).map(_.result.noSpaces.length)
    assert(results.size < parts.size && results.forall(_ <= RunResult.MostBytes), results)

  setup("a component's oversized input ends the composition; inputs may set final parameters"): s =>
    val large = "x" * 700_000
    s.conductor("swells"): _ =>
      Json.obj("action" -> "one".asJson, "state" -> Json.obj("kept" -> large.asJson))
    s.program("one")(_ => Json.obj("own" -> large.asJson))
    val whole = s.invoke("swells")
    assertEquals(whole.status, ActivationStatus.ApplicationError)
    assertEquals(
      whole.result,
      Json.obj("error" -> "The next action's input has more than 1048576 bytes.".asJson)
    )
    assertEquals(whole.logs.size, 2)
    s.add(
      "fixed",
      ActionFields(annotations = JsonObject("final" -> true.asJson)),
      "rust",
      JsonObject("n" -> 1.asJson)
    )
    s.programs = s.programs.updated("fixed", add(1))
    s.sequence("names", "fixed", "fixed")
    assertEquals(n(s.invoke("names", Json.obj("n" -> 5.asJson))), Some(7))

  setup("an invocation with its payload as text passes that text to the action"): s =>
    s.program("one")(add(1))
    val text = Some(JsonText("""{"n":3}"""))
    val call = Invocation(caller, s.known("/guest/one"), Json.obj(), Origin("transaction"), text = text)
    Await.result(s.invocations.invoke(call, Some(20.seconds)), 30.seconds) match
      case Right(Invoked.Ended(activation)) => assertEquals(n(activation), Some(4))
      case other => fail(s"did not end: $other")

  setup("a component that does not exist ends a sequence"): s =>
    s.sequence("lost", "ghost")
    assert(s.invoke("lost").result.noSpaces.contains("does not exist"))

  setup("a conductor decides which action comes next, and keeps its state"): s =>
    s.program("one")(add(1))
    s.conductor("thrice"): input =>
      val round = input.hcursor.get[Int]("round").getOrElse(0)
      if round == 3 then
        Json.obj("params" -> Json.obj("n" -> input.hcursor.get[Int]("n").getOrElse(0).asJson))
      else
        Json.obj(
          "action" -> "one".asJson,
          "params" -> Json.obj("n" -> input.hcursor.get[Int]("n").getOrElse(0).asJson),
          "state" -> Json.obj("round" -> (round + 1).asJson)
        )
    val whole = s.invoke("thrice", Json.obj("n" -> 4.asJson))
    assertEquals(whole.status, ActivationStatus.Success)
    assertEquals(whole.result, Json.obj("n" -> 7.asJson))
    assertEquals(annotation(whole, "conductor"), Some(true.asJson))
    assertEquals(whole.logs.size, 7)
    assertEquals(whole.logs.map(s.stored).map(_.name).toSet, Set("one", "thrice"))

  setup("a conductor that names no action returns its result, boxed if it is not an object"): s =>
    s.conductor("plain")(_ => Json.obj("n" -> 1.asJson))
    assertEquals(s.invoke("plain").result, Json.obj("n" -> 1.asJson))
    s.conductor("boxed")(_ => Json.obj("params" -> 5.asJson))
    assertEquals(s.invoke("boxed").result, Json.obj("value" -> 5.asJson))

  setup("the waiting states of conductors share a memory limit, and their memory is given back"): s =>
    s.stateMemory = 4 * RunResult.MostBytes
    val large = Json.obj("kept" -> ("x" * 700_000).asJson)
    s.program("one")(add(1))
    def conductor(name: String, next: String) = s.conductor(name): input =>
      if input.hcursor.downField("kept").failed then Json.obj("action" -> next.asJson, "state" -> large)
      else
        val told = input.hcursor.downField("error").focus.orElse(input.hcursor.downField("told").focus)
        Json.obj("params" -> Json.obj("told" -> told.asJson))
    conductor("inner", "one")
    conductor("outer", "inner")
    for _ <- 1 to 2 do
      assertEquals(s.invoke("inner").status, ActivationStatus.Success)
      val told = s.invoke("outer").result.hcursor.get[String]("told")
      assertEquals(told, Right(StateBudget.ofNamespace(RunResult.MostBytes)))

  setup("a conductor gets an error if the action it names is missing, forbidden or malformed"): s =>
    def asking(action: Json) = s.conductor("asks"): input =>
      if input.asObject.exists(_.contains("error")) then
        Json.obj("params" -> Json.obj("told" -> input.hcursor.downField("error").focus.getOrElse(Json.Null)))
      else Json.obj("action" -> action)
    def told(action: Json): String =
      asking(action)
      s.invoke("asks").result.hcursor.get[String]("told").getOrElse("")
    assertEquals(
      told("ghost".asJson),
      "Failed to resolve action with name \"/guest/ghost\" during composition."
    )
    assertEquals(
      told("/secret/x".asJson),
      "Failed entitlement check for action with name \"/secret/x\" during composition."
    )
    assertEquals(told(7.asJson), "Failed to parse action name from json value 7 during composition.")

  setup("a conductor that never finishes is stopped after 50 actions"): s =>
    s.program("one")(add(1))
    s.conductor("endless")(_ => Json.obj("action" -> "one".asJson))
    val whole = s.invoke("endless")
    assertEquals(whole.status, ActivationStatus.ApplicationError)
    assertEquals(whole.result, Json.obj("error" -> "Too many actions in the composition.".asJson))
    assertEquals(s.service.requests.values.count(_.definition.name == "one"), 50)
    assertEquals(s.service.requests.values.count(_.definition.name == "endless"), 101)

  setup("a failed read of a component or of its result is retried"): s =>
    s.program("one")(add(1))
    s.sequence("two", "one", "one")
    for unread <- Vector(s.failing, s.unreadable) do
      unread.set(3)
      val whole = s.invoke("two")
      assertEquals((whole.status, n(whole)), (ActivationStatus.Success, Some(2)))
      assertEquals(unread.get, 0)

  setup("a sequence whose controller dies is recorded as failed by another controller"): s =>
    s.program("one")(add(1))
    s.sequence("left", "one")
    // Its component never ends.
    s.service.hanging = true
    val call = Invocation(caller, s.known("/guest/left"), Json.obj(), Origin("transaction"))
    val id = Await.result(s.invocations.invoke(call, None), 30.seconds) match
      case Right(Invoked.Running(id)) => id
      case other => fail(s"$other")
    assertEquals(s.activations.find("guest", id), None)
    // Its lease has expired: the controller is not heard from again.
    s.storage.activations.renew(Vector(id), -1.second)
    var second = 0
    object database extends ActivationStore:
      export s.storage.activations.{endAbandoned as _, *}
      def endAbandoned(over: FiniteDuration, now: Timestamp): Int =
        if second >= 70 && second < 110 then
          throw StoreException("ending activations", RuntimeException("no connection"))
        s.storage.activations.endAbandoned(over, now)
    val other =
      Records(database, s.blocking, 30.seconds, retry, elapsed = () => MonotonicTime.Zero + second.seconds)
    def rounds(seconds: Range): Unit = seconds.foreach: now =>
      second = now
      val _ = Try(other.round())
    def isLeftAlone(): Unit = assertEquals(s.activations.find("guest", id), None)
    // The other controller has just started, and then the database was away: the record's controller gets
    // time to renew its lease.
    rounds(40 to 65 by 5)
    isLeftAlone()
    rounds(70 to 135 by 5)
    isLeftAlone()
    rounds(140 to 140)
    val record = s.activations.find("guest", id).getOrElse(fail("no record"))
    assertEquals(record.status, ActivationStatus.InternalError)
    assert(record.result.bytes.utf8String.contains("invoke it again"))
    assert(record.head.end.isDefined)

  setup("leases follow the database's clock, so a controller whose clock is behind still ends its record"):
    s =>
      var second = 0L
      def at(offset: Long) = () => Timestamp.now() + (second + offset).seconds
      def elapsed() = MonotonicTime.Zero + second.seconds
      val (behind, other) = (
        Records(s.storage.activations, s.blocking, 30.seconds, retry, at(-3600), elapsed),
        Records(s.storage.activations, s.blocking, 30.seconds, retry, at(0), elapsed)
      )
      val left = head("left").copy(status = ActivationStatus.InternalError)
      Await.result(behind.begin(left, "left", None)(()), 60.seconds)
      (0 to 60 by 5).foreach: now =>
        second = now
        other.round()
      assertEquals(s.activations.find("guest", left.id), None)
      // Its lease has lapsed, although its controller is alive.
      s.storage.activations.renew(Vector(left.id), -1.second)
      other.round()
      assertEquals(s.activations.find("guest", left.id).map(_.status), Some(ActivationStatus.InternalError))
      behind.round()
      val ended =
        left.copy(
          end = Some(left.start + 5.millis),
          duration = Some(5.millis),
          status = ActivationStatus.Success
        )
      val record = ActivationRecord(ended, JsonText("""{"n":1}"""))
      Await.result(behind.end(record, "left"), 60.seconds)
      assertEquals(s.activations.find("guest", left.id), Some(record))

  private def noConnection() =
    throw StoreException("storing an activation", RuntimeException("no connection"))

  setup("an invocation that was stored although an error was reported runs if it has a key"): s =>
    s.program("one")(add(1))
    s.sequence("whole", "one")
    s.builtIn("echo")(_ => Future.successful(Json.obj("n" -> 1.asJson)))
    for action <- Vector("/guest/whole", "/whisk.system/utils/echo") do
      s.opening = (_, store) =>
        store()
        noConnection()
      intercept[StoreException](Await.result(s.begin(action, Some(action)), 60.seconds))
      s.opening = (_, store) => store()
      val id = s.storage.flares.submitted("guest", action).fold(fail("not stored"))(_.id)
      assertEquals(
        Await.result(s.begin(action, Some(action)), 60.seconds).left.toOption,
        Some(InvocationRefusal.Refused(Refusal.AlreadySubmitted))
      )
      s.records.round()
      val record = Await.result(s.invocations.begun(caller, id).ended(60.seconds), 70.seconds)
      assertEquals(
        record.map(record => (record.status, n(record.activation))),
        Some((ActivationStatus.Success, Some(1)))
      )

  setup("an invocation that was stored although an error was reported does not run without a key"): s =>
    s.program("one")(_ => fail("the component ran"))
    s.sequence("whole", "one")
    def isTold() = intercept[StoreException](Await.result(s.begin("/guest/whole", None), 60.seconds))
    var stored = Vector.empty[FlareId]
    // One record is stored, and one is not.
    s.opening = (record, store) =>
      if stored.isEmpty then store()
      stored = stored :+ record.id
      noConnection()
    isTold(): Unit
    isTold(): Unit
    s.records.round()
    val Vector(there, gone) = stored.map(s.activations.find("guest", _)): @unchecked
    assertEquals(there.map(_.status), Some(ActivationStatus.InternalError))
    assert(there.exists(_.result.bytes.utf8String.contains("did not run")), there)
    assertEquals(gone, None)

  setup("a step that the controller runs itself begins even if the store fails for a moment"): s =>
    s.builtIn("echo")(call => Future.successful(call.payload))
    s.addSequence("echoed", "/whisk.system/utils/echo")
    val left = AtomicInteger(2)
    s.opening = (record, store) =>
      if record.name == "utils/echo" && left.getAndDecrement() > 0 then noConnection()
      store()
    assertEquals(n(s.invoke("echoed", Json.obj("n" -> 1.asJson))), Some(1))

  setup("a platform failure in an action that the controller runs itself is an internal error"): s =>
    s.builtIn("fails")(_ =>
      Future.failed(StoreException("storing an alarm", RuntimeException("no connection")))
    )
    s.addSequence("failing", "/whisk.system/utils/fails")
    assertEquals(s.invoke("failing").status, ActivationStatus.InternalError)

  setup("a result that a bucket delivers slowly does not block work on the database"): s =>
    s.program("large")(_ => Json.obj())
    s.service.program = None
    s.service.outputs = Vector(WorkerResult(0, Some(Output.OutOfLine(40000)), None))
    val (asked, answers) = (CountDownLatch(2), CountDownLatch(1))
    s.beforePiece = () =>
      asked.countDown()
      val _ = answers.await(2, TimeUnit.MINUTES)
    try
      val begun = Await.result(s.begin("/guest/large", None), 60.seconds).fold(no => fail(s"$no"), identity)
      val first = begun.ended(2.minutes)
      // Asked for after the end, as by a request that is repeated with its key.
      kit.createTestProbe[Any]().awaitAssert(assert(s.storage.activations.find("guest", begun.id).isDefined))
      val second = s.invocations.begun(caller, begun.id).ended(2.minutes)
      assert(asked.await(60, TimeUnit.SECONDS))
      assertEquals(Await.result(s.blocking(1), 60.seconds), 1)
      answers.countDown()
      for ended <- Vector(first, second) do assert(Await.result(ended, 60.seconds).isDefined)
    finally answers.countDown()

  setup("a stopping controller waits for its sequences, and records those still running as failed"): s =>
    given ActorSystem[?] = kit.system
    s.program("one")(add(1))
    s.sequence("short", "one")
    s.sequence("left", "one")
    val stop = s.records.start()
    s.invoke("short"): Unit
    Await.result(s.records.idle(5.minutes), 60.seconds)
    s.service.hanging = true
    val call = Invocation(caller, s.known("/guest/left"), Json.obj(), Origin("transaction"))
    val id = Await.result(s.invocations.invoke(call, None), 30.seconds) match
      case Right(Invoked.Running(id)) => id
      case other => fail(s"$other")
    assert(!s.records.idle(1.minute).isCompleted)
    Await.result(s.records.idle(200.millis), 30.seconds)
    Await.result(stop(), 30.seconds)
    // A stop waits for the record to be stored, but only for a moment.
    kit.createTestProbe[Any]().awaitAssert(assert(s.activations.find("guest", id).isDefined))
    val record = s.activations.find("guest", id).getOrElse(fail("no record"))
    assertEquals(record.status, ActivationStatus.InternalError)
    assert(record.head.end.exists(_ >= record.head.start), record.head)

  setup("a controller stops even if the store is unreachable or never answers"): s =>
    given ActorSystem[?] = kit.system
    val isBack = CountDownLatch(1)
    def store(away: () => Unit) = new ActivationStore:
      export s.storage.activations.{renew as _, *}
      def renew(ids: Vector[FlareId], recordLease: FiniteDuration): Unit = if ids.nonEmpty then away()
    def fails() = throw StoreException("renewing activations", RuntimeException("no connection"))
    try
      for away <- Vector(() => fails(), () => isBack.await()) do
        val records = Records(store(away), s.blocking, 30.seconds, retry)
        val own = head("left")
        Await.result(records.begin(own, "left", None)(()), 60.seconds)
        Await.result(records.start()(), 60.seconds)
    finally isBack.countDown()

  setup("an activation that was no flare is recorded unchanged"): s =>
    val ding = head("ding").copy(annotations = JsonObject("path" -> "guest/ding".asJson))
    val fired = Activation(ding, Json.obj("a" -> 1.asJson), Vector("""{"rule":"guest/r"}"""))
    Await.result(s.invocations.record(fired), 60.seconds)
    assertEquals(s.stored(fired.id.value), fired)

  setup("a sequence begins only if its caller may invoke every action that it would run"): s =>
    s.program("one")(add(1))
    s.addSequence("closed", "/guest/one", "/secret/p/own")
    s.addSequence("nests", "/guest/ghost", "/guest/closed")
    s.sequence("round", "round")
    // The fiftieth action is the last that runs.
    s.addSequence("late", (Seq.fill(50)("/guest/one") :+ "/secret/p/own")*)
    val lacking = Left(InvocationRefusal.NotEntitled(ActionName("secret", Some("p"), "own")))
    for name <- Seq("closed", "nests") do
      assertEquals(Await.result(s.begin(s"/guest/$name", None), 60.seconds), lacking)
    assertEquals((s.taken, s.storage.flares.list(Some("guest"), None, None, 10, 0)), (0, Vector.empty))
    assertEquals(s.invoke("late").logs.size, 50)
    assertEquals(s.invoke("round").status, ActivationStatus.ApplicationError)
