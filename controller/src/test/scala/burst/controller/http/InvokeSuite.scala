package burst.controller.http

import burst.controller.placement.Packing
import burst.controller.store.{addLogs, addResults, update}
import burst.controller.blob.BlobName
import burst.controller.flare.{FlareState, LogText, Output, PackRecord, WorkerResult}
import burst.controller.http.FakeFlareService.ended
import burst.controller.scheduler.Refusal
import burst.protocol.{
  Failure,
  FailureKind,
  FlareId,
  Inputs,
  InvokerId,
  JsonText,
  LogStream,
  PackId,
  PackStart,
  Timestamp
}
import io.circe.{parser, Json}
import java.nio.file.Files
import java.sql.DriverManager
import org.apache.pekko.pattern.after
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.{Try, Using}

class InvokeSuite extends HttpSuite:
  private given ExecutionContext = ExecutionContext.global
  private val actions = "/api/v1/namespaces/_/actions"
  private val activations = "/api/v1/namespaces/_/activations"

  override def beforeAll(): Unit =
    super.beforeAll()
    service.reset()
    assertEquals(
      send("PUT", s"$bursts/hello", deployment(more = ""","parameters":{"who":"all","kept":1}""")).status,
      200
    )

  /** Deploys an action whose activations can be listed separately. */
  private def fresh(name: String): String =
    assertEquals(send("PUT", s"$bursts/$name", deployment()).status, 200)
    name

  private def invoke(query: String = "", body: String = "{}", name: String = "hello") =
    send("POST", s"$actions/$name$query", Some(body))

  private def returning(text: String): Unit =
    service.ending = ended(FlareState.Succeeded)
    service.program = Some(_ => JsonText(text))

  private def id(reply: Reply): String = reply.headers("x-openwhisk-activation-id")

  private def annotation(record: Json, key: String): Option[Json] =
    record.hcursor.downField("annotations").values.toVector.flatten
      .find(_.hcursor.get[String]("key").contains(key))
      .flatMap(_.hcursor.downField("value").focus)

  test("a call that does not wait is 202 with the activation's id, which is the flare's id"):
    val reply = invoke(body = """{"who":"me"}""")
    assertEquals(reply.status, 202, reply.body)
    assertEquals(reply.json, Json.obj("activationId" -> Json.fromString(id(reply))))
    val request = service.last.get.getOrElse(fail("not submitted"))
    assertEquals(request.size, 1)
    assertEquals(request.inputs, Inputs.Shared(JsonText("""{"kept":1,"who":"me"}""")))
    assertEquals(request.activation.map(_.path), Some("guest/hello"))
    assertEquals(request.activation.flatMap(_.key), None)
    refused(send("GET", s"$activations/${id(reply)}"), 404, "has not ended yet")
    assertEquals(send("GET", s"$flares/${id(reply)}").status, 200)

  test("an action that asks for an API key gets its caller's"):
    val about = ""","annotations":[{"key":"provide-api-key","value":true}]"""
    val exec = """{"kind":"nodejs","code":"function main() {}"}"""
    assertEquals(send("PUT", s"$actions/keyed", Some(s"""{"exec":$exec$about}""")).status, 200)
    assertEquals(invoke(name = "keyed").status, 202)
    assertEquals(service.last.get.flatMap(_.activation).flatMap(_.key), Some(credentials.takeWhile(_ != ':')))

  test("a namespace's invocations per minute are limited"):
    val limits = """{"limits":{"invocationsPerMinute":2,"flaresPerMinute":100}}"""
    val own = send("PUT", s"$admin/counted", Some(limits), caller(admin)).string("auth")
    val exec = """{"kind":"nodejs","code":"function main() {}"}"""
    send("PUT", s"$actions/one", Some(s"""{"exec":$exec}"""), Some(own))
    def call() = send("POST", s"$actions/one", Some("{}"), Some(own))
    service.refusing = Some(Refusal.NoInvokers)
    (1 to 5).foreach(_ => refused(call(), 503))
    service.refusing = None
    assertEquals(Seq.fill(2)(call().status), Seq(202, 202), "refused calls do not count")
    // The minute may end meanwhile.
    val limited = Iterator.continually(call()).take(5).find(_.status != 202).getOrElse(fail("no limit"))
    refused(limited, 429, "invocations", "count: 2, allowed: 2")
    val seconds = limited.headers.get("retry-after").flatMap(_.toIntOption)
    assert(seconds.exists(s => s >= 1 && s <= 60), seconds)
    val shown = send("GET", "/api/v1/namespaces/_/limits", auth = Some(own)).json.hcursor
    assertEquals(shown.get[Int]("invocationsPerMinute"), Right(2))
    assertEquals(shown.get[Int]("firesPerMinute"), Right(100))

  test(
    "an action that is overwritten before its call is stored is read again, and one that is deleted is 404"
  ):
    val name = fresh("moving")
    def meanwhile(change: => Reply): Unit =
      service.refusing = Some(Refusal.PackageGone)
      service.meanwhile = () =>
        service.refusing = None
        service.meanwhile = () => ()
        assertEquals(change.status, 200)
    meanwhile(send("PUT", s"$bursts/$name?overwrite=true", deployment()))
    assertEquals(invoke(name = name).status, 202)
    assertEquals(service.last.get.map(_.definition.version), Some("0.0.2"))
    meanwhile(send("DELETE", s"$actions/$name"))
    refused(invoke(name = name), 404, s"'$name'")

  test("a call without a body has the action's parameters"):
    val reply = send("POST", s"$actions/hello", None)
    assertEquals(reply.status, 202, reply.body)
    assertEquals(service.last.get.map(_.inputs), Some(Inputs.Shared(JsonText("""{"who":"all","kept":1}"""))))

  test("a call that waits returns the whole record, or the result alone"):
    returning("""{"greeting":"hello"}""")
    val reply = invoke("?blocking=True")
    assertEquals(reply.status, 200, reply.body)
    val cursor = reply.json.hcursor
    assertEquals(cursor.get[String]("activationId"), Right(id(reply)))
    assertEquals(cursor.get[String]("namespace"), Right("guest"))
    assertEquals(cursor.get[String]("name"), Right("hello"))
    assertEquals(cursor.get[String]("version"), Right("0.0.1"))
    assertEquals(cursor.get[Vector[String]]("logs"), Right(Vector.empty))
    val response = cursor.downField("response")
    assertEquals(response.get[String]("status"), Right("success"))
    assertEquals(response.get[Boolean]("success"), Right(true))
    assertEquals(response.downField("result").get[String]("greeting"), Right("hello"))
    assertEquals(annotation(reply.json, "path").flatMap(_.asString), Some("guest/hello"))
    assertEquals(annotation(reply.json, "kind").flatMap(_.asString), Some("rust"))
    assert(annotation(reply.json, "initTime").isDefined)
    assertEquals(send("GET", s"$activations/${id(reply)}").json, reply.json)
    assertEquals(invoke("?blocking=true&result=true").body, """{"greeting":"hello"}""")

  test("a result that is an array is the whole response"):
    returning("[1,2]")
    val reply = invoke("?blocking=true")
    assertEquals((reply.status, reply.body), (200, "[1,2]"))

  test("a result with an error, or that is neither object nor array, is 502 without a code"):
    val name = fresh("wrong")
    returning("""{"error":"no such city"}""")
    val application = invoke("?blocking=true&result=true", name = name)
    assertEquals((application.status, application.body), (502, """{"error":"no such city"}"""))
    returning("42")
    val developer = invoke("?blocking=true", name = name)
    assertEquals(developer.status, 502)
    val response = developer.json.hcursor.downField("response")
    assertEquals(response.get[String]("status"), Right("action developer error"))
    assert(response.downField("result").get[String]("error").exists(_.contains("valid JSON")))
    assert(!developer.json.asObject.exists(_.contains("code")))
    // The list shows the same outcomes.
    val codes = send("GET", s"$activations?name=wrong").json.asArray.toVector.flatten
      .flatMap(_.hcursor.get[Int]("statusCode").toOption)
    assertEquals(codes.sorted, Vector(1, 2))

  test("a result of more than 1 MiB is an application error that shows its beginning"):
    val name = fresh("large")
    val most = 1024 * 1024
    def returned(text: String): Reply =
      service.reset()
      service.ending = ended(FlareState.Succeeded)
      service.outputs =
        Vector(WorkerResult(0, Some(Output.OutOfLine(text.getBytes("UTF-8").length)), None))
      service.meanwhile = () =>
        service.requests.keys.foreach: flare =>
          val file = Files.writeString(Files.createTempFile("burst-output", ""), text)
          storage.blobs.put(flare, BlobName.output(0), file)
      invoke("?blocking=true", name = name)
    def response(reply: Reply) = reply.json.hcursor.downField("response")
    val largest = s"""{"a":"${"x" * (most - 8)}"}"""
    val whole = returned(largest)
    assertEquals((whole.status, response(whole).get[Int]("size")), (200, Right(most)))
    assertEquals(response(whole).get[Json]("result").map(_.noSpaces.length), Right(most))
    // The last of the 1024 bytes that are shown is half a character.
    val beyond = returned(s"""{"ab":"${"é" * (most / 2)}"}""")
    assertEquals(beyond.status, 502)
    assertEquals(response(beyond).get[String]("status"), Right("application error"))
    assertEquals(
      response(beyond).downField("result").get[String]("error"),
      Right(
        s"The action produced a response that exceeded the allowed length: ${most + 9} > $most bytes. " +
          s"The truncated response was: {\"ab\":\"${"é" * 508}"
      )
    )
    assertEquals(send("GET", s"$activations/${id(beyond)}").json, beyond.json)
    val codes = send("GET", s"$activations?name=$name").json.asArray.toVector.flatten
      .map(_.hcursor.get[Int]("statusCode"))
    assertEquals(codes.toSet, Set(Right(0), Right(1)))

  test("a call cannot override a final action's parameter that has a value"):
    val about = """"parameters":[{"key":"fixed","value":1},{"key":"open","value":null}],
      "annotations":[{"key":"final","value":true}]"""
    val exec = """{"kind":"nodejs","code":"function main() {}"}"""
    assertEquals(send("PUT", s"$actions/final", Some(s"""{"exec":$exec,$about}""")).status, 200)
    for query <- Seq("", "?blocking=true") do
      refused(invoke(query, """{"own":2,"fixed":1}""", "final"), 400, "'fixed'")
    val values = """{"value":[{"own":2},3,{"fixed":1}]}"""
    refused(send("POST", s"$actions/final?burst=true", Some(values)), 400, "'fixed'")
    assertEquals(service.last.get, None)
    assertEquals(invoke(body = """{"own":2,"open":3}""", name = "final").status, 202)
    assertEquals(
      service.last.get.map(_.inputs),
      Some(Inputs.Shared(JsonText("""{"fixed":1,"own":2,"open":3}""")))
    )

  test(
    "a record shows its action, its limits and its times, and also how long the start took if there was one"
  ):
    assertEquals(send("PUT", "/api/v1/namespaces/_/packages/tools", Some("{}")).status, 200)
    val limits = """{"timeout":5000,"memory":512,"logs":3,"concurrency":2}"""
    val exec = """{"kind":"nodejs:default","code":"function main() {}"}"""
    val stored = send("PUT", s"$actions/tools/timed", Some(s"""{"exec":$exec,"limits":$limits}"""))
    assertEquals(stored.status, 200, stored.body)
    returning("{}")
    def called(start: PackStart): Json =
      service.ending = flare =>
        val whole = ended(FlareState.Succeeded)(flare)
        whole.copy(
          placed = Some(flare.created + 7_500.micros),
          packs = whole.packs.map(_.copy(start = Some(start))),
          workers = whole.workers.map(_.copy(started = Some(flare.created + 30.millis))),
          ended = Some(flare.created + 50.millis)
        )
      val reply = invoke("?blocking=true", name = "tools/timed")
      assertEquals(reply.status, 200, reply.body)
      val record = send("GET", s"$activations/${id(reply)}").json
      val said = Map(
        "path" -> Json.fromString("guest/tools/timed"),
        "kind" -> Json.fromString("nodejs:20"),
        "limits" -> parser.parse(limits).getOrElse(Json.Null),
        "timeout" -> Json.False
      )
      said.foreach((key, value) => assertEquals(annotation(record, key), Some(value)))
      val keys = record.hcursor.downField("annotations").values.toVector.flatten
        .flatMap(_.hcursor.get[String]("key").toOption)
      val times = "waitTime" +: Option.when(start == PackStart.Cold)("initTime").toSeq
      assertEquals(keys.sorted, (said.keys.toVector ++ times).sorted)
      record
    def time(record: Json, key: String) = annotation(record, key).flatMap(_.asNumber).flatMap(_.toInt)
    val cold = called(PackStart.Cold)
    assertEquals((time(cold, "waitTime"), time(cold, "initTime")), (Some(7), Some(22)))
    assertEquals(cold.hcursor.get[Long]("duration"), Right(43L))
    val warm = called(PackStart.Warm)
    assertEquals((time(warm, "waitTime"), time(warm, "initTime")), (Some(30), None))
    assertEquals(warm.hcursor.get[Long]("duration"), Right(20L))
    def listed(query: String) =
      send("GET", s"$activations?name=tools/timed$query").json.asArray.getOrElse(Vector.empty)
    val listing =
      Set("namespace", "name", "version", "publish", "annotations", "activationId", "start", "end")
    val short = listing ++ Set("duration", "statusCode")
    assertEquals(listed("").map(_.asObject.map(_.keys.toSet)), Vector(Some(short), Some(short)))
    val whole = listing ++ Set("duration", "subject", "response", "logs")
    assertEquals(listed("&docs=true").map(_.asObject.map(_.keys.toSet)), Vector(Some(whole), Some(whole)))
    assertEquals(listed("&docs=true").toSet, Set(cold, warm))

  test("timeouts and crashes have their own error messages"):
    def failing(state: FlareState, failure: Failure) =
      service.ending = ended(state, Some(failure))
      service.outputs = Vector(WorkerResult(0, None, Some(failure)))
      val reply = invoke("?blocking=true")
      assertEquals(reply.status, 502)
      (reply, reply.json.hcursor.downField("response").downField("result").get[String]("error").getOrElse(""))
    val (late, text) =
      failing(FlareState.TimedOut, Failure(FailureKind.Timeout, "late", operation = Some("work")))
    assertEquals(text, "The action exceeded its time limits of 60000 milliseconds.")
    assertEquals(annotation(late.json, "timeout"), Some(Json.True))
    assertEquals(
      failing(FlareState.Failed, Failure(FailureKind.OutOfMemory, "oom"))._2,
      "The action exhausted its memory and was aborted."
    )
    assertEquals(
      failing(FlareState.Failed, Failure(FailureKind.Signal, "killed"))._2,
      "The action did not produce a valid response and exited unexpectedly."
    )
    assertEquals(failing(FlareState.Failed, Failure(FailureKind.Error, "it said"))._2, "it said")

  test("a call that waits too long is 202, and the invocation continues"):
    service.ending = _.copy(state = FlareState.Running)
    val reply = invoke("?blocking=true&timeout=1")
    assertEquals(reply.status, 202)
    assertEquals(reply.string("activationId"), id(reply))

  test("invalid calls are refused"):
    refused(invoke(body = "[1]"), 400, "JSON object")
    refused(invoke(body = "7"), 400, "JSON object")
    refused(invoke(body = "{"), 400, "not valid JSON")
    refused(invoke(body = """{"a":1,"a":2}"""), 400, "twice")
    refused(invoke("?timeout=0"), 400, "'timeout'")
    refused(invoke("?timeout=60001"), 400, "'timeout'")
    refused(invoke("?blocking=perhaps"), 400, "'blocking'")
    refused(invoke(name = "ghost"), 404, "'ghost'")
    refused(invoke(name = "gh!ost"), 400, "A name has")
    refused(invoke(body = s"""{"a":"${"x" * (1 << 20)}"}"""), 413, "1048576")
    refused(send("POST", "/api/v1/namespaces/other/actions/hello", Some("{}")), 403)
    refused(send("POST", s"$actions/hello", Some("{}"), auth = None), 401)
    assertEquals(service.last.get, None)

  test("a refusal by the scheduler is passed on to the caller"):
    service.refusing = Some(Refusal.NoInvokers)
    refused(invoke(), 503, "invoker")
    service.refusing = Some(Refusal.QueueFull(7))
    refused(invoke(), 429, "7")

  test("each line of a log has its padded time and its stream"):
    returning("{}")
    val reply = invoke("?blocking=true", name = fresh("logged"))
    val flare = FlareId.parse(id(reply)).getOrElse(fail("no id"))
    storage.flares.addLogs(
      flare,
      Vector(
        LogText(Some(0), PackId(0), LogStream.Stdout, Timestamp.ofMicros(1_700_000_000_123_456L), "one\ntwo"),
        LogText(Some(0), PackId(0), LogStream.Stderr, Timestamp.ofMicros(1_700_000_000_000_000L), "bad")
      )
    )
    val lines = Vector(
      "2023-11-14T22:13:20.123456Z    stdout: one",
      "2023-11-14T22:13:20.123456Z    stdout: two",
      "2023-11-14T22:13:20.000Z       stderr: bad"
    )
    assertEquals(
      send("GET", s"$activations/${id(reply)}/logs").json.hcursor.get[Vector[String]]("logs"),
      Right(lines)
    )
    assertEquals(
      send("GET", s"$activations/${id(reply)}").json.hcursor.get[Vector[String]]("logs"),
      Right(lines)
    )
    val documents = send("GET", s"$activations?name=logged&docs=true").json
    assertEquals(documents.hcursor.downN(0).get[Vector[String]]("logs"), Right(lines))
    val result = send("GET", s"$activations/${id(reply)}/result").json.hcursor
    assertEquals(result.get[Boolean]("success"), Right(true))
    assertEquals(result.downField("result").focus, Some(Json.obj()))

  test("lists are newest first, filtered by name and time, and counted"):
    assertEquals(send("PUT", s"$bursts/listed", deployment()).status, 200)
    val ids = Vector(5000L, 7000L, 6000L).map: begun =>
      service.ending = flare =>
        ended(FlareState.Succeeded)(flare).copy(
          placed = Some(Timestamp.ofMillis(begun)),
          ended = Some(Timestamp.ofMillis(begun) + 5.micros)
        )
      service.program = Some(_ => JsonText("{}"))
      begun -> id(invoke("?blocking=true", name = "listed"))
    .toMap
    def listed(query: String) =
      send("GET", s"$activations?name=listed$query").json.asArray.toVector.flatten
        .flatMap(_.hcursor.get[String]("activationId").toOption)
    assertEquals(listed(""), Vector(ids(7000), ids(6000), ids(5000)))
    assertEquals(listed("&limit=1&skip=1"), Vector(ids(6000)))
    assertEquals(listed("&since=6000"), Vector(ids(7000), ids(6000)))
    assertEquals(listed("&upto=6000"), Vector(ids(6000), ids(5000)))
    assertEquals(listed("&since=5001&upto=6999"), Vector(ids(6000)))
    assertEquals(send("GET", s"$activations?name=listed&count=true").body, """{"activations":3}""")
    val first = send("GET", s"$activations?name=listed&limit=1").json.hcursor.downN(0)
    assertEquals(first.get[Long]("start"), Right(7000L))
    assertEquals(first.get[Int]("statusCode"), Right(0))
    assertEquals(send("GET", s"$activations?name=nothing").body, "[]")

  test("invalid queries for activations are refused"):
    refused(send("GET", s"$activations?docs=true&count=true"), 400, "'docs'", "'count'")
    refused(send("GET", s"$activations?limit=201"), 400, "'limit'")
    refused(send("GET", s"$activations?limit=-1"), 400, "'limit'")
    refused(send("GET", s"$activations?skip=-1"), 400, "'skip'")
    refused(send("GET", s"$activations?since=yesterday"), 400, "'since'")
    refused(send("GET", s"$activations?upto=99999999999999999999"), 400, "'upto'")
    refused(send("GET", s"$activations?name=a/b/c"), 400, "A name has")
    refused(send("GET", s"$activations/ABC"), 400, "32 lower-case")
    refused(send("GET", s"$activations/${"0" * 32}"), 404, "no activation")
    refused(send("GET", s"/api/v1/namespaces/other/activations"), 403)

  private def burst(query: String, body: String) =
    send("POST", s"$actions/hello?burst=true$query", Some(body))

  test("a burst has a worker for each value and a record for each container"):
    service.meanwhile = () =>
      // Two packs, the second of which has two workers.
      service.requests.keys.foreach: flare =>
        storage.flares.find(flare).foreach: queued =>
          val whole = ended(FlareState.Succeeded)(queued)
          val workers = whole.workers.map(w => w.copy(pack = Some(PackId(w.worker.min(1)))))
          val packs = Vector(0 -> Vector(0), 1 -> Vector(1, 2)).map: (pack, its) =>
            PackRecord(PackId(pack), InvokerId("invoker0"), its, Some(PackStart.Warm))
          storage.flares.addResults(
            flare,
            Vector(
              WorkerResult(0, Some(Output.Inline(JsonText("""{"n":0}"""))), None),
              WorkerResult(1, Some(Output.Inline(JsonText("11"))), None),
              WorkerResult(2, Some(Output.Inline(JsonText("[22]"))), None)
            )
          )
          storage.flares.update(whole.copy(workers = workers, packs = packs))
    val reply = burst(
      "&granularity=2&chunk_size=8&backend=redis-list&debug=False",
      """{"value":[{"n":1},2,{"who":3}]}"""
    )
    assertEquals(reply.status, 202, reply.body)
    val request = service.last.get.getOrElse(fail("not submitted"))
    assertEquals(
      request.inputs,
      Inputs.Each(Vector("""{"who":"all","kept":1,"n":1}""", "2", """{"kept":1,"who":3}""").map(JsonText(_)))
    )
    assertEquals((request.packing, request.granularity), (Packing.Homogeneous, Some(2)))
    assertEquals((request.backend, request.chunkSize), ("redis-list", Some(8192)))
    val ids = reply.json.hcursor.get[Vector[String]]("activationIds").getOrElse(Vector.empty)
    assertEquals(ids.size, 2)
    def record(id: String) =
      val reply = send("GET", s"$activations/$id")
      assertEquals(reply.status, 200, reply.body)
      reply.json.hcursor
    assertEquals(
      record(ids(0)).downField("response").downField("result").focus.map(_.noSpaces),
      Some("""[{"n":0}]""")
    )
    assertEquals(
      record(ids(1)).downField("response").downField("result").focus.map(_.noSpaces),
      Some("[11,[22]]")
    )
    assertEquals(record(ids(1)).get[String]("activationId"), Right(ids(1)))
    assertEquals(record(ids(1)).downField("response").get[Boolean]("success"), Right(true))
    assert(record(ids(1)).get[Long]("end").isRight)
    assertEquals(
      send("GET", s"$activations/${ids(1)}/result").json.hcursor.downField("result").focus.map(_.noSpaces),
      Some("[11,[22]]")
    )
    val other = ids(1).dropRight(1) + "0123".filterNot(ids.map(_.last).contains).head
    assertEquals(send("GET", s"$activations/$other").status, 404)

  test("a burst's packs are as large as possible, of a given size, or one container per machine"):
    service.meanwhile = () =>
      for flare <- service.requests.keys; queued <- storage.flares.find(flare) do
        storage.flares.update(ended(FlareState.Succeeded)(queued))
    def packed(query: String) =
      val reply = burst(query, """{"value":[1,2,3]}""")
      assertEquals(reply.status, 202, reply.body)
      assertEquals(reply.json.hcursor.get[Vector[String]]("activationIds").map(_.size), Right(1))
      service.last.get.map(request => (request.size, request.packing, request.granularity))
    assertEquals(packed(""), Some((3, Packing.Heterogeneous, None)))
    assertEquals(packed("&join=False"), Some((3, Packing.Heterogeneous, None)))
    assertEquals(packed("&granularity=2"), Some((3, Packing.Homogeneous, Some(2))))
    assertEquals(packed("&granularity=2&join=True"), Some((3, Packing.Mixed, Some(2))))
    assertEquals(packed("&join=true"), Some((3, Packing.Mixed, None)))

  test("a burst is waited for even if the store fails for a moment"):
    def rename(from: String, to: String): Unit =
      val file = s"jdbc:sqlite:${config.getString("burst.store.directory")}/burst.db"
      Using.resource(DriverManager.getConnection(file)): connection =>
        val statement = connection.createStatement()
        // The controller writes to the database as well.
        statement.execute("PRAGMA busy_timeout = 60000")
        val _ = statement.execute(s"ALTER TABLE $from RENAME TO $to")
    def restored() = Try(rename("flare_away", "flare"))
    @volatile var back = Future.unit
    service.meanwhile = () =>
      service.requests.keys.foreach: flare =>
        storage.flares.find(flare).foreach: queued =>
          val pack = PackRecord(PackId(0), InvokerId("invoker0"), Vector(0), Some(PackStart.Warm))
          storage.flares.update(ended(FlareState.Succeeded)(queued).copy(packs = Vector(pack)))
      rename("flare", "flare_away")
      back = after(200.millis)(Future(restored().orElse(restored()).orElse(restored()).get))
    val reply = burst("", """{"value":[1]}""")
    Await.result(back, 60.seconds)
    assertEquals(reply.status, 202, reply.body)
    assertEquals(reply.json.hcursor.get[Vector[String]]("activationIds").map(_.size), Right(1))

  test("invalid bursts are refused"):
    refused(burst("", """{"value":[]}"""), 400, "array")
    refused(burst("", """{"value":{}}"""), 400, "'value'", "array")
    refused(burst("", "{}"), 400, "'value'", "array")
    refused(burst("&granularity=0", """{"value":[1]}"""), 400, "'granularity'")
    refused(burst("&granularity=x", """{"value":[1]}"""), 400, "'granularity'")
    refused(burst("&chunk_size=1", """{"value":[1]}"""), 400, "'chunkSize'")
    refused(burst("&backend=pigeon", """{"value":[1]}"""), 400, "'backend'")
    refused(burst("&join=maybe", """{"value":[1]}"""), 400, "'join'")
    assertEquals(service.last.get, None)

  test("a sequence can be invoked once it is created, but not flared"):
    assertEquals(send("PUT", s"$bursts/first", deployment()).status, 200)
    val exec = """{"exec":{"kind":"sequence","components":["/_/first","/guest/first"]}}"""
    assertEquals(send("PUT", s"$actions/twice", Some(exec)).status, 200)
    returning("""{"n":1}""")
    val reply = invoke("?blocking=true", name = "twice")
    assertEquals(reply.status, 200, reply.body)
    assertEquals(reply.json.hcursor.get[Vector[String]]("logs").map(_.size), Right(2))
    assertEquals(annotation(reply.json, "topmost"), Some(Json.True))
    assertEquals(send("GET", s"$activations/${id(reply)}").json, reply.json)
    assertEquals(
      send("GET", s"$activations/${id(reply)}/logs").json.hcursor.downField("logs").focus,
      reply.json.hcursor.downField("logs").focus
    )
    refused(send("POST", s"$bursts/twice", Some("""{"size":1}""")), 400, "sequence")
    refused(send("POST", s"$actions/twice?burst=true", Some("""{"value":[1]}""")), 400, "sequence")
    assertEquals(send("GET", s"$flares/${id(reply)}").status, 404)
