#include "vipu/wire/messages/health.h"

#include <health.pb-c.h>

#include "vipu/wire/messages/proto.h"

bool wire_get_health_request(struct slice bytes, struct arena *arena, const char **ret_service,
                             struct err *err)
{
    Grpc__Health__V1__HealthCheckRequest *request =
        proto_unpack_request(&grpc__health__v1__health_check_request__descriptor, bytes, arena, err);

    if (!request)
        return false;
    *ret_service = proto_clean(request->service);
    return true;
}

static void put(Grpc__Health__V1__HealthCheckResponse__ServingStatus status, struct str *out)
{
    Grpc__Health__V1__HealthCheckResponse response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

    response.status = status;
    proto_pack(&response, out);
}

void wire_put_serving(struct str *out)
{
    put(GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING, out);
}

void wire_put_service_unknown(struct str *out)
{
    put(GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN, out);
}
