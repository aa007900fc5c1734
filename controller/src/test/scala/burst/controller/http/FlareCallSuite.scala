package burst.controller.http

import burst.controller.placement.Packing
import burst.controller.blob.BlobStoreException
import burst.controller.flare.{FlareState, Output, WorkerResult}
import burst.controller.http.FakeFlareService.ended
import burst.controller.scheduler.Refusal
import burst.controller.store.StoreException
import burst.protocol.{Failure, FailureKind, Inputs, JsonText}
import io.circe.syntax.*
import java.io.IOException
import scala.concurrent.duration.DurationInt

class FlareCallSuite extends HttpSuite:
  override def beforeAll(): Unit =
    super.beforeAll()
    service.reset()
    val config = ""","config":{"granularity":2,"timeout":5000},"parameters":{"who":"all","kept":1}"""
    assertEquals(send("PUT", s"$bursts/hello", deployment(more = config)).status, 200)

  private def post(body: String, query: String = "", name: String = "hello") =
    send("POST", s"$bursts/$name$query", Some(body))

  private def request(body: String)(using munit.Location) =
    val reply = post(body)
    assertEquals(reply.status, 202, reply.body)
    service.last.get.getOrElse(fail("not submitted"))

  test("a flare of no workers, of too many, or of two different sizes is refused"):
    refused(post("{}"), 400, "how many workers")
    refused(post("""{"params":{"a":1}}"""), 400, "how many workers")
    refused(post("""{"size":0}"""), 400, "'size'", "from 1 to 4096")
    refused(post("""{"size":-3}"""), 400, "'size'")
    refused(post("""{"size":4097}"""), 400, "'size'", "4096")
    refused(post("""{"size":9999999999999999999999}"""), 400, "'size'")
    refused(post("""{"size":2.5}"""), 400, "'size'", "whole number")
    refused(post("""{"size":"8"}"""), 400, "'size'", "whole number")
    refused(post("""{"params":[]}"""), 400, "'params'")
    refused(post(s"""{"params":[${"1," * 4096}1]}"""), 400, "'params'", "4096")
    refused(post("""{"size":3,"params":[1,2]}"""), 400, "'size' is 3", "2 inputs")
    assertEquals(service.last.get, None)

  test("malformed bodies, unknown fields and options out of range are refused"):
    refused(post(""), 400, "not valid JSON")
    refused(post("nope"), 400, "not valid JSON")
    refused(post("null"), 400, "must be a JSON object")
    refused(post("""{"size":2,"sise":2}"""), 400, "'sise'", "size")
    refused(post(s"""{"size":2,"${"x" * 500}":2}"""), 400, "…")
    refused(post("""{"size":2,"backend":"pigeon"}"""), 400, "'backend'", "direct, redis-list")
    refused(post("""{"size":2,"packing":7}"""), 400, "'packing' must be a string")
    refused(post("""{"size":2,"timeout":900001}"""), 400, "'timeout'", "900000")
    refused(post("""{"size":2,"retries":11}"""), 400, "'retries'")
    refused(post(s"""{"size":1,"params":${"[" * 999}${"]" * 999}}"""), 400, "nested deeper")
    refused(send("POST", s"$bursts/hello", Some("{}"), contentType = Some("text/yaml")), 415)
    refused(post("""{"size":1}""", "?blocking=maybe"), 400, "'blocking'")
    refused(post("""{"size":1}""", "?result=maybe"), 400, "'result'")
    assertEquals(service.last.get, None)

  test("a definition that is overwritten before its flare is stored is read again"):
    assertEquals(send("PUT", s"$bursts/moving", deployment()).status, 200)
    service.refusing = Some(Refusal.PackageGone)
    service.meanwhile = () =>
      service.refusing = None
      service.meanwhile = () => ()
      assertEquals(send("PUT", s"$bursts/moving?overwrite=true", deployment()).status, 200)
    assertEquals(post("""{"size":1}""", name = "moving").status, 202)
    assertEquals(service.last.get.map(_.definition.version), Some("0.0.2"))
    service.refusing = Some(Refusal.PackageGone)
    refused(post("""{"size":1}""", name = "moving"), 503, "again soon")

  test("an unknown definition is 404, a bad name 400"):
    refused(post("""{"size":1}""", name = "ghost"), 404, "'ghost'")
    refused(post("""{"size":1}""", name = "gh!ost"), 400, "A name has")

  test("the scheduler's refusals become responses that say what to change"):
    def when(refusal: Refusal) =
      service.refusing = Some(refusal)
      post("""{"size":100}""")
    refused(when(Refusal.TooLarge(100, 8)), 400, "100 workers", "8 slots")
    refused(when(Refusal.UnitTooLarge(6, 4)), 400, "granularity of 6", "the largest has 4")
    val units = when(Refusal.UnitsTooLarge(7, 3, 6, 8))
    refused(units, 400, "granularity of 3", "only 6 of the cluster's 8 slots", "7 workers")
    refused(when(Refusal.NamespaceRevoked), 401, "revoked")
    refused(when(Refusal.OverLimit("concurrent slots", 100, 50)), 400, "concurrent slots", "100", "50")
    val full = when(Refusal.QueueFull(10))
    refused(full, 429, "10 flares")
    assertEquals(full.headers("retry-after"), "1")
    refused(when(Refusal.NoInvokers), 503, "invoker")

  test("an unexpected failure is 500 and reveals nothing to the caller"):
    service.breaking = Some(RuntimeException("secret inside"))
    val reply = post("""{"size":1}""")
    refused(reply, 500, "code")
    assert(!reply.body.contains("secret"))

  test("a failing bucket is reported as temporary, with when to try again"):
    service.breaking = Some(BlobStoreException("storing inputs", RuntimeException("no answer")))
    val reply = post("""{"size":1}""")
    refused(reply, 503, "again")
    assert(reply.headers.contains("retry-after"), reply.headers)

  test("a full disk is reported as such, with when to try again"):
    service.breaking = Some(StoreException("storing inputs", IOException("/data/x: No space left on device")))
    val reply = post("""{"size":1}""")
    refused(reply, 503, "the controller's disk is full; send the request again once there is room")
    assert(reply.headers.contains("retry-after"), reply.headers)

  test("a request is completed with the values of the definition and of the platform"):
    val r = request("""{"size":3,"params":{"who":"me"}}""")
    assertEquals(r.size, 3)
    assertEquals(r.inputs, Inputs.Shared(JsonText("""{"kept":1,"who":"me"}""")))
    assertEquals(
      (r.granularity, r.timeout, r.packing, r.backend),
      (Some(2), 5.seconds, Packing.Mixed, "direct")
    )
    assertEquals((r.chunkSize, r.memory, r.retries), (None, 256, 0))
    assertEquals(r.definition.version, "0.0.1")
    val own = request(
      """{"size":2,"granularity":1,"packing":"heterogeneous","backend":"redis-list","chunkSize":4096,
         "timeout":1,"memory":64,"retries":2}"""
    )
    assertEquals(own.inputs, Inputs.Shared(JsonText("""{"who":"all","kept":1}""")))
    assertEquals((own.granularity, own.packing, own.backend), (Some(1), Packing.Heterogeneous, "redis-list"))
    assertEquals((own.chunkSize, own.timeout, own.memory, own.retries), (Some(4096), 1.milli, 64, 2))

  test("each worker gets its own input: objects over the definition's parameters, others unchanged"):
    val r = request("""{"params":[{"who":"me"},7,null],"size":3}""")
    val each = Inputs.Each(Vector(JsonText("""{"kept":1,"who":"me"}"""), JsonText("7"), JsonText("null")))
    assertEquals((r.size, r.inputs), (3, each))
    assertEquals(request("""{"params":["x"]}""").size, 1)

  test("a call that does not wait returns the id alone"):
    val reply = post("""{"size":1}""")
    assertEquals(reply.status, 202)
    assertEquals(reply.json.asObject.map(_.keys.toList), Some(List("flareId")))

  test("a blocking call returns the finished flare: 200 if it succeeded"):
    service.ending = ended(FlareState.Succeeded)
    val reply = post("""{"size":2}""", "?blocking=true")
    assertEquals(reply.status, 200)
    val id = reply.string("flareId")
    assertEquals(
      reply.json.noSpaces,
      s"""{"flareId":"$id","groupId":null,"namespace":"guest","name":"hello","version":"0.0.1",
         |"state":"succeeded","attempt":1,"size":2,"granularity":2,"packing":"mixed","backend":"direct","chunkSize":null,
         |"timeout":5000,"memory":256,"created":1000,"started":1020,"ended":1100,"error":null,"queue":null,
         |"packs":[{"pack":0,"invoker":"invoker0","node":null,"workers":[0,1],"start":"cold"}],
         |"workers":[{"worker":0,"pack":0,"state":"succeeded","started":1030,"ended":1090,"error":null},
         |{"worker":1,"pack":0,"state":"succeeded","started":1030,"ended":1090,"error":null}]}""".stripMargin
        .replace("\n", "")
    )
    assertEquals(send("GET", s"$flares/$id").json, reply.json)

  test("a blocking call returns 502 and the same body if the flare did not succeed"):
    val failure = Failure(FailureKind.Panic, "boom", worker = Some(1))
    Seq(FlareState.Failed, FlareState.Cancelled, FlareState.TimedOut).foreach: state =>
      service.ending = ended(state, Some(failure))
      val reply = post("""{"size":2}""", "?blocking=true")
      assertEquals(reply.status, 502)
      assertEquals(reply.json.hcursor.downField("error").get[String]("message"), Right("boom"))

  test("a blocking call is 202 when the flare outlasts the limit"):
    service.ending = _.copy(state = FlareState.Running)
    val reply = post("""{"size":2}""", "?blocking=true&result=true")
    assertEquals(reply.status, 202)
    assert(reply.string("flareId").nonEmpty)

  test("with result=true the response is the result of all workers"):
    val failure = Failure(FailureKind.Error, "no", worker = Some(1))
    service.ending = ended(FlareState.Failed, Some(failure))
    service.outputs = Vector(
      WorkerResult(0, Some(Output.Inline(JsonText("null"))), None),
      WorkerResult(1, None, Some(failure))
    )
    val reply = post("""{"size":3}""", "?blocking=true&result=true")
    assertEquals(reply.status, 502)
    val error = failure.asJson.noSpaces
    assertEquals(
      reply.body,
      s"""{"flareId":"${reply.string("flareId")}","state":"failed","error":$error,""" +
        s""""outputs":[{"worker":0,"output":null},{"worker":1,"error":$error},{"worker":2}]}"""
    )
